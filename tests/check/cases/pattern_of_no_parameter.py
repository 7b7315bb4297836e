"""A pattern of frozen parameters that a renamed layer has left behind."""

from __future__ import annotations

import fiddle as fdl
import optax

from fdlkit.train.optimizers import by_path, frozen
from tests.check.house import experiment


def broken():
    groups = {
        "innr/**": fdl.Config(frozen),
        "**": fdl.Config(optax.adam, learning_rate=1e-2),
    }
    return experiment(
        optimizer=fdl.Config(
            optax.chain,
            fdl.Config(optax.clip_by_global_norm, max_norm=1.0),
            fdl.Config(by_path, groups=groups),
        ),
        learning_rate=None,
    )
