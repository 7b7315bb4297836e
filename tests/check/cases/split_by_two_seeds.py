"""What is held out is decided by another seed than in training."""

from __future__ import annotations

from tests.check.house import experiment


def broken():
    cfg = experiment()
    cfg.eval_data.source.split_seed = 1
    return cfg
