"""Stages that cut the stacked layers, where there is no pipeline."""

from __future__ import annotations

import fdlkit

MESH = {"data": 2, "stage": 2}


def broken():
    return fdlkit.load("experiments/lm.py:tiny")
