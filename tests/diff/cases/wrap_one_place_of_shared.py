"""Of two places that share a node, one has it inside another of the same class now."""

from __future__ import annotations

import fiddle as fdl

from tests.diff.house import Average, base


def old():
    cfg = base()
    cfg.model = fdl.Config(Average, model=cfg.model, decay=0.9)
    cfg.extra = [cfg.model]
    return cfg


def new():
    cfg = old()
    cfg.extra[0] = fdl.Config(Average, model=cfg.model, decay=0.99)
    return cfg
