"""A block less."""

from __future__ import annotations

from tests.diff.house import base


def old():
    return base()


def new():
    cfg = base()
    del cfg.model.blocks[1]
    cfg.extra["names"].remove("eval")
    return cfg
