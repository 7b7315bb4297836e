"""Parameters that no group of the optimizer is for."""

from __future__ import annotations

import fiddle as fdl
import optax

from fdlkit.train.optimizers import by_path
from tests.check.house import experiment


def broken():
    groups = {"**/kernel": fdl.Config(optax.adam, learning_rate=1e-2)}
    return experiment(
        optimizer=fdl.Config(by_path, groups=groups),
        learning_rate=1e-2,
    )
