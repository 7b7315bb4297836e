"""A count that is a text."""

from __future__ import annotations

from tests.check.house import experiment


def broken():
    cfg = experiment()
    cfg.train_data.batch_size = 8
    cfg.model.width = "8"
    return cfg
