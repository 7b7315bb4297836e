"""A class that is called otherwise now, with the same arguments."""

from __future__ import annotations

import fiddle as fdl

from tests.diff.house import GatedMlp, base


def old():
    return base()


def new():
    cfg = base()
    mlp = cfg.model.blocks[0].mlp
    fdl.update_callable(mlp, GatedMlp)
    mlp.gate = "gelu"
    return cfg
