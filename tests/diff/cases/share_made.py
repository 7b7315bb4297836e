"""The same block three times."""

from __future__ import annotations

from tests.diff.house import base


def old():
    return base()


def new():
    cfg = base()
    cfg.model.blocks = [cfg.model.blocks[0]] * 3
    return cfg
