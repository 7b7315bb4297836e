"""An experiment with a loss and a metric of its own, on arrays in memory."""

import dataclasses

import fiddle as fdl
import flax.linen as nn
import jax.numpy as jnp
import numpy as np
import optax

from fdlkit.data.pipeline import Pipeline
from fdlkit.data.source import InMemory
from fdlkit.keys import Key
from fdlkit.train.coverage import First
from fdlkit.train.evaluators import Evaluator
from fdlkit.train.goals import KeepBest
from fdlkit.train.losses import Loss, SquaredError
from fdlkit.train.metrics import Metric
from fdlkit.train.metrics_of_values import Mean, SkipNan, TreeNorm
from fdlkit.train.trainer import Trainer

FLOOR = 1e-3


class Line(nn.Module):
    """A straight line."""

    @nn.compact
    def __call__(self, x):
        return nn.Dense(1, name="line")(x)[:, 0]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Huber(Loss):
    """Squares near zero, lines far from it."""

    delta: float = 1.0
    predictions: Key = "preds"
    labels: Key = "batch.y"

    def values(self, *, predictions, labels):
        """The loss of each row, `[batch]`."""
        return optax.huber_loss(predictions, labels, delta=self.delta) + FLOOR


@dataclasses.dataclass(frozen=True, kw_only=True)
class Near(Metric):
    """How many predictions are near."""

    within: float
    predictions: Key = "preds"
    labels: Key = "batch.y"

    def state(self, *, predictions, labels, mask):
        off = jnp.abs(predictions - labels)
        mask = jnp.ones_like(off) if mask is None else mask
        return {"near": jnp.sum((off < self.within) * mask), "all": jnp.sum(mask)}

    def result(self, state):
        return float(state["near"] / state["all"])


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


def several():
    """Two losses, one of them of an intermediate; metrics at log points."""
    cfg = base()
    fade = fdl.Config(optax.linear_schedule, 0.1, 0.0, 20)
    line = "interms.line.__call__[0]"
    cfg.loss = {
        "fit": fdl.Config(Huber, delta=0.5),
        "small": fdl.Config(SquaredError, predictions=line, labels=line, weight=fade),
    }
    cfg.schedules = {"small": fade}
    cfg.train_metrics = {
        "near": fdl.Config(Near, within=1.0),
        "grads": fdl.Config(TreeNorm, tree="grads.line"),
        "line": fdl.Config(SkipNan, metric=fdl.Config(Mean, values=line)),
    }
    return cfg


def watched():
    """Several evaluators, one with a metric of its own, and the best checkpoint."""
    cfg = base()
    cfg.evaluators = {
        "quick": fdl.Config(
            Evaluator,
            every=5,
            coverage=fdl.Config(First, 1),
            metrics={"close": fdl.Config(Near, within=0.125)},
        )
    }
    cfg.keep_best = fdl.Config(KeepBest, metric="eval/near", mode="max")
    return cfg
