"""Layers that do not come out even over the stages."""

from __future__ import annotations

import fdlkit

MESH = {"data": 2, "stage": 2}


def broken():
    cfg = fdlkit.load("experiments/lm.py:tiny")
    cfg.model.layers.n = 3
    return cfg
