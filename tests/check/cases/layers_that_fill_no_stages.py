"""Layers that do not come out even over the devices that store them."""

from __future__ import annotations

import fdlkit
from fdlkit.sharding.layout import DEFAULT_RULES

MESH = {"data": 2, "context": 2}


def broken():
    cfg = fdlkit.load("experiments/lm.py:tiny")
    cfg.model.layers.n = 3
    changed = {"layers": "context", "time": None}
    cfg.rules = tuple((name, changed.get(name, to)) for name, to in DEFAULT_RULES)
    return cfg
