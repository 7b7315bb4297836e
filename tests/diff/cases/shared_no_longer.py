"""Two blocks that were one, one of which changes."""

from __future__ import annotations

from tests.diff.house import base, block


def old():
    cfg = base()
    cfg.model.blocks = [cfg.model.blocks[0]] * 2
    return cfg


def new():
    cfg = old()
    cfg.model.blocks[1] = block(128)
    cfg.model.blocks[1].heads = 2
    return cfg
