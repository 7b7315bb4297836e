"""One row for eight devices, and nineteen for four of them at a time."""

from __future__ import annotations

import fdlkit

MESH = {"data": 4, "fsdp": 2}


def broken():
    cfg = fdlkit.load("experiments/lm.py:tiny")
    cfg.train_data.batch_size = 1
    cfg.eval_data.batch_size = 19
    return cfg
