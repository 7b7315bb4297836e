"""A schedule that was shared, and that an override has replaced in one place."""

from __future__ import annotations

import fiddle as fdl
import optax

from tests.check.house import experiment


def broken():
    schedule = fdl.Config(optax.cosine_decay_schedule, init_value=1e-2, decay_steps=30)
    cfg = experiment(
        optimizer=fdl.Config(
            optax.chain,
            fdl.Config(optax.clip_by_global_norm, max_norm=1.0),
            fdl.Config(optax.adam, learning_rate=schedule),
        ),
        learning_rate=schedule,
    )
    cfg.optimizer[1].learning_rate = 3e-3
    return cfg
