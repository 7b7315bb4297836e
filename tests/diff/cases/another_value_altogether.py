"""A node where a number was, and a number where a node was."""

from __future__ import annotations

import fiddle as fdl

from tests.diff.house import Norm, base


def old():
    cfg = base()
    cfg.data = 3
    return cfg


def new():
    cfg = base()
    cfg.data = fdl.Config(Norm)
    cfg.optimizer = None
    return cfg
