"""The same, and a value of the model is another."""

from __future__ import annotations

import fiddle as fdl

from tests.diff.house import Average, base


def old():
    return base()


def new():
    cfg = base()
    cfg.model.hidden = 96
    cfg.model = fdl.Config(Average, model=cfg.model)
    return cfg
