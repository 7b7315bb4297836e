"""A block is copied to another place, and then the first one is changed."""

from __future__ import annotations

from fdlkit.graph.copying import copy
from tests.diff.house import base


def old():
    cfg = base()
    cfg.data = {"first": cfg.model}
    cfg.model = None
    return cfg


def new():
    cfg = old()
    cfg.data["second"] = copy(cfg.data["first"])
    cfg.data["first"].hidden = 32
    return cfg
