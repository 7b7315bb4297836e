"""A node is inside another one of the same class now."""

from __future__ import annotations

import fiddle as fdl

from tests.diff.house import Average, base


def old():
    cfg = base()
    cfg.model = fdl.Config(Average, model=cfg.model, decay=0.9)
    return cfg


def new():
    cfg = old()
    cfg.model = fdl.Config(Average, model=cfg.model, decay=0.99)
    return cfg
