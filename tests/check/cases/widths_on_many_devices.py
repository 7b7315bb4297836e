"""A model that was made for another mesh: neither its width nor its batch come out."""

from __future__ import annotations

import fdlkit

MESH = {"fsdp": 24, "tensor": 8}


def broken():
    cfg = fdlkit.load("experiments/lm.py:tiny")
    cfg.model.layers.block.mlp.width = 100
    return cfg
