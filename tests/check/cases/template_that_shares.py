"""A module in a repeated template and outside it."""

from __future__ import annotations

import fiddle as fdl

from fdlkit.nn.repeat import Repeat
from tests.check.house import Layer, experiment


def broken():
    layer = fdl.Config(Layer, width=8)
    cfg = experiment()
    cfg.model.layers = [layer, fdl.Config(Repeat, block=layer, n=2)]
    return cfg
