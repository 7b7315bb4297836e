"""A loss that has taken the mean itself."""

from __future__ import annotations

import dataclasses

import fiddle as fdl
import jax.numpy as jnp

from fdlkit.keys import Key
from fdlkit.train.losses import Loss
from tests.check.house import experiment


@dataclasses.dataclass(frozen=True, kw_only=True)
class MeanError(Loss):
    """One number for a whole batch."""

    predictions: Key = "preds"
    labels: Key = "batch.labels"

    def values(self, *, predictions, labels):
        return jnp.mean((predictions - labels) ** 2)


def broken():
    return experiment(loss=fdl.Config(MeanError), eval_data=None)
