"""A count in scientific notation, which is a float."""

from __future__ import annotations

from tests.check.house import experiment


def broken():
    return experiment(num_train_steps=1e3)
