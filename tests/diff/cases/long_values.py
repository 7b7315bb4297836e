"""Values that are long, and differ near their ends."""

from __future__ import annotations

from tests.diff.house import base


def old():
    cfg = base()
    cfg.data = "x" * 200 + "old"
    return cfg


def new():
    cfg = base()
    cfg.data = "x" * 200 + "new"
    cfg.extra["names"] = [*range(100)]
    return cfg
