"""The rule of one logical axis is gone, that of another misspelt."""

from __future__ import annotations

import fdlkit
from fdlkit.sharding.layout import DEFAULT_RULES

MESH = {"fsdp": 4, "tensor": 2}


def broken():
    cfg = fdlkit.load("experiments/lm.py:tiny")
    cfg.rules = tuple(
        ("vcoab", axes) if name == "vocab" else (name, axes)
        for name, axes in DEFAULT_RULES
        if name != "kv_heads"
    )
    return cfg
