"""A value that followed another one does no longer."""

from __future__ import annotations

from tests.diff.house import base


def old():
    return base()


def new():
    cfg = base()
    cfg.model.embed.features = 64
    cfg.model.output.features = 32
    return cfg
