"""A loss that has taken the mean itself."""

from __future__ import annotations

import dataclasses

import fiddle as fdl
import jax.numpy as jnp

from tests.check.house import experiment


@dataclasses.dataclass(frozen=True)
class MeanError:
    """One number for a whole batch."""

    unit: str = "examples"

    def __call__(self, context):
        return jnp.mean((context["preds"] - context["batch"]["labels"]) ** 2)


def broken():
    return experiment(loss=fdl.Config(MeanError), eval_data=None)
