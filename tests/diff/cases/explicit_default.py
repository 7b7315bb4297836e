"""What was the default anyway is written out: no change."""

from __future__ import annotations

from tests.diff.house import base


def old():
    return base()


def new():
    cfg = base()
    cfg.model.dropout = 0.1
    cfg.optimizer.eps = 1e-8
    cfg.model.blocks[0].norm = None
    return cfg
