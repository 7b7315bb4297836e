"""A tuple where a list was."""

from __future__ import annotations

from tests.diff.house import base


def old():
    return base()


def new():
    cfg = base()
    cfg.extra["names"] = tuple(cfg.extra["names"])
    cfg.model.blocks = tuple(cfg.model.blocks)
    return cfg
