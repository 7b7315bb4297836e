"""A reference was compared with a number."""

from __future__ import annotations

from fdlkit import ref
from tests.check.house import experiment


def broken():
    cfg = experiment(log_every=ref("num_train_steps") // 3)
    if cfg.log_every == 10:
        cfg.seed = 1
    return cfg
