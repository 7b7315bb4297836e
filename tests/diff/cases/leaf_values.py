"""Some values are other values."""

from __future__ import annotations

from tests.diff.house import base


def old():
    return base()


def new():
    cfg = base()
    cfg.model.hidden = 128
    cfg.model.blocks[1].mlp.width = 300
    cfg.steps = 2000
    cfg.extra["betas"] = (0.9, 0.99)
    return cfg
