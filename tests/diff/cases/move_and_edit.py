"""A block is in another place, and a value in it is another."""

from __future__ import annotations

from tests.diff.house import base


def old():
    return base()


def new():
    cfg = base()
    moved = cfg.model.blocks.pop(1)
    moved.heads = 16
    cfg.model.blocks.insert(0, moved)
    return cfg
