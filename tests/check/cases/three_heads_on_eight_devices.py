"""Three heads on an axis of eight: other systems pad them to eight in silence."""

from __future__ import annotations

import fdlkit

MESH = {"tensor": 8}


def broken():
    cfg = fdlkit.load("experiments/lm.py:tiny")
    attention = cfg.model.layers.block.attention
    attention.num_heads = 3
    attention.head_dim = 16
    return cfg
