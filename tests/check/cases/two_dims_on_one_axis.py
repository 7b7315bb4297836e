"""Heads and their width both on one mesh axis: the second is dropped in silence."""

from __future__ import annotations

import fdlkit
from fdlkit.sharding.layout import DEFAULT_RULES

MESH = {"data": 2, "tensor": 2}


def broken():
    cfg = fdlkit.load("experiments/lm.py:tiny")
    cfg.rules = tuple(
        (name, "tensor" if name == "head_dim" else axes) for name, axes in DEFAULT_RULES
    )
    return cfg
