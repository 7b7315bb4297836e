"""A value follows another one now."""

from __future__ import annotations

from fdlkit.graph.references import ref
from tests.diff.house import base


def old():
    return base()


def new():
    cfg = base()
    cfg.model.blocks[0].mlp.width = ref("^hidden") * 4
    cfg.model.blocks[1].mlp.width = ref("^hidden") * 4
    return cfg
