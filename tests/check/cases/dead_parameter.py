"""A parameter of a function that nothing reads."""

from __future__ import annotations

import fiddle as fdl
import optax

from tests.check.house import experiment


def make_optimizer(learning_rate: float, weight_decay: float = 0.0):
    return optax.adam(learning_rate)


def broken():
    optimizer = fdl.Config(make_optimizer, learning_rate=1e-2, weight_decay=0.1)
    return experiment(optimizer=optimizer)
