"""Rows of thirty tokens cut over four devices: XLA pads every activation."""

from __future__ import annotations

import fdlkit

MESH = {"data": 2, "context": 4}


def broken():
    cfg = fdlkit.load("experiments/lm.py:tiny")
    for data in (cfg.train_data, cfg.eval_data):
        data.source.length = 30
    return cfg
