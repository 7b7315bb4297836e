"""One layer three times, which the experiment says is meant."""

from __future__ import annotations

import fiddle as fdl

import fdlkit
from tests.check.house import Layer, experiment


def broken():
    cfg = experiment()
    cfg.model.layers = [fdl.Config(Layer, width=8)] * 3
    fdlkit.allow(cfg, "CF005", at=cfg.model, reason="ALBERT: one layer, three times")
    return cfg
