"""A small regression experiment for tests: everything real, milliseconds a step."""

from __future__ import annotations

import flax.linen as nn
import jax
import numpy as np
import optax

from fdlkit.data.pipeline import Pipeline
from fdlkit.data.source import InMemory
from fdlkit.train.checkpoints import CheckpointPolicy
from fdlkit.train.losses import SquaredError
from fdlkit.train.trainer import Trainer


class Mlp(nn.Module):
    """Two layers, with dropout to make every step's random key matter."""

    width: int = 16
    dropout: float = 0.1

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """`[batch, features]` to `[batch, 1]`."""
        x = nn.tanh(nn.Dense(self.width)(x))
        x = nn.Dropout(self.dropout, deterministic=not self.has_rng("dropout"))(x)
        return nn.Dense(1)(x)


def examples(n: int = 64, seed: int = 0) -> dict[str, np.ndarray]:
    """Inputs `[n, 4]` and labels `[n, 1]` of a fixed linear map."""
    x = np.random.default_rng(seed).normal(size=(n, 4)).astype(np.float32)
    return {"x": x, "labels": (x @ np.array([[1], [-2], [3], [0.5]], np.float32))}


def make_trainer(**changes) -> Trainer:
    """A trainer of 30 steps that logs, evaluates and saves at different cadences."""
    schedule = optax.linear_schedule(1e-2, 1e-3, 30)
    fields = {
        "model": Mlp(),
        "inputs": {"x": "batch.x"},
        "loss": SquaredError(),
        "train_data": Pipeline(source=InMemory(examples()), batch_size=8, seed=3),
        "eval_data": Pipeline(
            source=InMemory(examples(21, seed=1)),
            batch_size=8,
            shuffle=False,
            num_epochs=1,
            remainder="pad",
        ),
        "optimizer": optax.adam(schedule),
        "learning_rate": schedule,
        "num_train_steps": 30,
        "log_every": 7,
        "eval_every": 10,
        "checkpoints": CheckpointPolicy(every=12, keep=2),
    }
    return Trainer(**(fields | changes))
