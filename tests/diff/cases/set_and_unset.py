"""Arguments that were not set are, and the other way round."""

from __future__ import annotations

from tests.diff.house import base


def old():
    return base()


def new():
    cfg = base()
    cfg.model.dropout = 0.3
    del cfg.optimizer.b2
    del cfg.extra
    return cfg
