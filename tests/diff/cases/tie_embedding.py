"""One table for both ends."""

from __future__ import annotations

from tests.diff.house import base


def old():
    return base()


def new():
    cfg = base()
    cfg.model.output = cfg.model.embed
    return cfg
