"""Three microbatches of eight rows, and two stages on four devices."""

from __future__ import annotations

import fiddle as fdl

import fdlkit
from fdlkit.nn.pipelining import Pipelining

MESH = {"data": 2, "stage": 4}


def broken():
    cfg = fdlkit.load("experiments/lm.py:tiny")
    cfg.model.layers.n = 4
    cfg.model.layers.pipeline = fdl.Config(Pipelining, num_stages=2, num_microbatches=3)
    return cfg
