"""A block more, before all others."""

from __future__ import annotations

from tests.diff.house import base, block


def old():
    return base()


def new():
    cfg = base()
    cfg.model.blocks.insert(0, block(64))
    return cfg
