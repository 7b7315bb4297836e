"""A table for each end."""

from __future__ import annotations

from tests.diff.house import base


def old():
    cfg = base()
    cfg.model.output = cfg.model.embed
    return cfg


def new():
    cfg = base()
    cfg.model.embed.vocab = 300
    return cfg
