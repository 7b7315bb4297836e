"""Gradient accumulation over a number of parts that a device's rows do not have."""

from __future__ import annotations

from tests.check.house import experiment

MESH = {"data": 2}
DEVICES = 2


def broken():
    return experiment(microbatches=3)
