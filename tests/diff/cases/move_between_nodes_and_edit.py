"""The same, and a value in it is another."""

from __future__ import annotations

import fiddle as fdl

from tests.diff.house import Norm, base


def old():
    cfg = base()
    cfg.model.blocks[2].heads = 2
    return cfg


def new():
    cfg = base()
    cfg.data = cfg.model.blocks.pop(2)
    cfg.data.norm = fdl.Config(Norm, epsilon=1e-5)
    return cfg
