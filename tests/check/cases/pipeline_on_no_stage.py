"""A pipeline on a mesh without stages, and tensors cut across slices."""

from __future__ import annotations

import fiddle as fdl

import fdlkit
from fdlkit.nn.pipelining import Pipelining

MESH = {"data": 2, "dcn.tensor": 2}


def broken():
    cfg = fdlkit.load("experiments/lm.py:tiny")
    cfg.model.layers.pipeline = fdl.Config(Pipelining, num_stages=2, num_microbatches=4)
    return cfg
