"""An experiment with a loss and a metric of its own, on arrays in memory."""

import dataclasses

import fiddle as fdl
import flax.linen as nn
import jax.numpy as jnp
import numpy as np
import optax

from fdlkit.data.pipeline import Pipeline
from fdlkit.data.source import InMemory
from fdlkit.keys import get_key
from fdlkit.train.losses import Context
from fdlkit.train.trainer import Trainer

FLOOR = 1e-3


class Line(nn.Module):
    """A straight line."""

    @nn.compact
    def __call__(self, x):
        return nn.Dense(1, name="line")(x)[:, 0]


@dataclasses.dataclass(frozen=True)
class Huber:
    """Squares near zero, lines far from it."""

    delta: float = 1.0
    unit: str = "examples"

    def __call__(self, context: Context):
        """The loss of each row, `[batch]`."""
        labels = get_key(context, "batch.y", wanted_by="loss")
        return optax.huber_loss(context["preds"], labels, delta=self.delta) + FLOOR


@dataclasses.dataclass(frozen=True)
class Near:
    """How many predictions are near."""

    within: float

    def __call__(self, context: Context):
        off = jnp.abs(context["preds"] - context["batch"]["y"])
        weights = context["weights"]
        return jnp.sum((off < self.within) * weights), jnp.sum(weights)


def points(*, seed):
    """Arrays that are made when the experiment is."""
    x = np.random.default_rng(seed).normal(size=(64, 3)).astype(np.float32)
    return {"x": x, "y": x @ np.float32([1.0, -2.0, 0.5]) + 3.0}


def base():
    """A line through points."""
    return fdl.Config(
        Trainer,
        model=fdl.Config(Line),
        loss=fdl.Config(Huber, delta=0.5),
        inputs={"x": "batch.x"},
        train_data=fdl.Config(
            Pipeline,
            source=fdl.Config(InMemory, fdl.Config(points, seed=1)),
            batch_size=16,
        ),
        eval_data=fdl.Config(
            Pipeline,
            source=fdl.Config(InMemory, fdl.Config(points, seed=2)),
            batch_size=24,
            num_epochs=1,
            shuffle=False,
            remainder="pad",
        ),
        metrics={"near": fdl.Config(Near, within=1.0)},
        optimizer=fdl.Config(optax.sgd, 0.1),
        num_train_steps=20,
        log_every=1,
    )
