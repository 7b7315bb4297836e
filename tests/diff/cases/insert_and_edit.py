"""A block more, and a change in one behind it."""

from __future__ import annotations

from tests.diff.house import base, block


def old():
    return base()


def new():
    cfg = base()
    cfg.model.blocks.insert(0, block(64, heads=1))
    cfg.model.blocks[2].mlp.dropout = 0.5
    return cfg
