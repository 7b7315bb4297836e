"""Losses that are none, weights and masks that do not fit."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from fdlkit.keys import Key
from fdlkit.train.losses import (
    CrossEntropy,
    Huber,
    Loss,
    RegressionLoss,
    SquaredError,
)
from fdlkit.train.metrics import MeanLoss
from tests.train.refused.toys import checked, fails, made, rows


@dataclasses.dataclass(frozen=True, kw_only=True)
class Failing(Loss):
    """Raises while it is traced."""

    preds: Key = "preds"

    def values(self, *, preds):
        return fails(preds)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Gives(Loss):
    """Whatever values a test wants."""

    make: Callable[[Any], Any]
    preds: Key = "preds"

    def values(self, *, preds):
        return self.make(preds)


def weighted(weight):
    return checked(loss={"a": SquaredError(), "b": SquaredError(weight=weight)})


REFUSED = {
    "no loss": checked(loss={}),
    "something else than a loss": checked(loss={"a": MeanLoss()}),
    "a loss without values": checked(loss=Loss()),
    "a regression without a penalty": checked(loss=RegressionLoss()),
    "a loss that raises": checked(loss=Failing()),
    "values that are no array": checked(loss=Gives(make=lambda p: None)),
    "a number of Python": checked(loss={"a": Gives(make=lambda p: 0.0)}),
    "a mean where an evaluation masks rows": checked(
        loss=Gives(make=jnp.mean), eval_data=rows()
    ),
    "a name that is no text": checked(loss={1: SquaredError()}),
    "a weight that is no number": weighted("1"),
    "a weight that is not finite": weighted(math.nan),
    "a weight of several numbers": weighted(lambda step: jnp.ones(3)),
    "a mask of other dims": checked(loss=SquaredError(mask="batch.x")),
    "smoothing of all": made(CrossEntropy, label_smoothing=1.0),
    "a reward for large logits": made(CrossEntropy, z_loss=-1e-4),
    "labels that are no classes": checked(loss=CrossEntropy()),
    "a line that begins nowhere": made(Huber, delta=0.0),
}
