"""The same elements in another order."""

from __future__ import annotations

from tests.diff.house import base


def old():
    return base()


def new():
    cfg = base()
    cfg.model.blocks.append(cfg.model.blocks.pop(0))
    cfg.extra["names"].insert(0, cfg.extra["names"].pop())
    return cfg
