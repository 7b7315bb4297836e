"""More rows on a device than it has memory for, by an estimate."""

from __future__ import annotations

import fdlkit

TOPOLOGY = "v4:2x2"


def broken():
    cfg = fdlkit.load("experiments/lm.py:tiny")
    cfg.train_data.source.length = 1024
    cfg.train_data.batch_size = 16384
    return cfg
