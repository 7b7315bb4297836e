"""Two required arguments are not set; both are told."""

from __future__ import annotations

from tests.check.house import experiment


def broken():
    cfg = experiment()
    del cfg.num_train_steps
    del cfg.model.width
    return cfg
