"""Two references that need each other, and a third that is misspelt."""

from __future__ import annotations

from fdlkit import ref
from tests.check.house import experiment


def broken():
    return experiment(
        log_every=ref("eval_every"),
        eval_every=ref("log_every"),
        seed=ref("num_train_stesp"),
    )
