"""A block moves from one node to another."""

from __future__ import annotations

from tests.diff.house import base


def old():
    return base()


def new():
    cfg = base()
    cfg.data = cfg.model.blocks.pop(2)
    return cfg
