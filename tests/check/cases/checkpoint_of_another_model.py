"""A checkpoint of a model that differs in every way that there is."""

from __future__ import annotations

import fiddle as fdl

from tests.check.house import Layer, Tower, experiment

RESTORE = "tests/check/checkpoints"


def broken():
    layers = (fdl.Config(Layer, width=8), fdl.Config(Layer, width=8))
    return experiment(model=fdl.Config(Tower, width=8, layers=layers))
