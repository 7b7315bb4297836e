"""Fewer rows in the tables than ids of the tokenizer, and than positions."""

from __future__ import annotations

import fiddle as fdl

import fdlkit
from fdlkit.nn.positions import LearnedPositions


def broken():
    cfg = fdlkit.load("experiments/lm.py:tiny")
    cfg.model.vocab_size = 200
    cfg.model.positions = fdl.Config(LearnedPositions, length=16, features=32)
    return cfg
