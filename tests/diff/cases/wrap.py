"""The model is inside another node now."""

from __future__ import annotations

import fiddle as fdl

from tests.diff.house import Average, base


def old():
    return base()


def new():
    cfg = base()
    cfg.model = fdl.Config(Average, model=cfg.model, decay=0.99)
    return cfg
