"""A key of a dict has another name."""

from __future__ import annotations

from tests.diff.house import base


def old():
    return base()


def new():
    cfg = base()
    cfg.extra["splits"] = cfg.extra.pop("names")
    return cfg
