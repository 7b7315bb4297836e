"""A model of 43 billion parameters whose state alone is more than its devices hold."""

from __future__ import annotations

import fdlkit

MESH = {"fsdp": 8}
TOPOLOGY = "v5e:2x4"


def broken():
    cfg = fdlkit.load("experiments/lm.py:tiny")
    cfg.model.hidden = 12288
    cfg.model.layers.n = 24
    return cfg
