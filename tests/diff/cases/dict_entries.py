"""Entries of a dict come, go and change."""

from __future__ import annotations

from tests.diff.house import base


def old():
    return base()


def new():
    cfg = base()
    del cfg.extra["betas"]
    cfg.extra["seed"] = 3
    cfg.extra["names"] = None
    return cfg
