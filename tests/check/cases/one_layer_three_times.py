"""`[cfg] * 3` is one layer three times."""

from __future__ import annotations

import fiddle as fdl

from tests.check.house import Layer, experiment


def broken():
    cfg = experiment()
    cfg.model.layers = [fdl.Config(Layer, width=8)] * 3
    return cfg
