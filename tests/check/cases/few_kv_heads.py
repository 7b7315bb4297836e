"""Fewer key and value heads than devices on their axis."""

from __future__ import annotations

import fdlkit

MESH = {"data": 2, "tensor": 4}


def broken():
    cfg = fdlkit.load("experiments/lm.py:tiny")
    attention = cfg.model.layers.block.attention
    attention.num_heads = 8
    attention.num_kv_heads = 2
    attention.head_dim = 4
    return cfg
