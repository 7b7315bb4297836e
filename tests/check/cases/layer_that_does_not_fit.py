"""Shapes that do not go together, deep in a model."""

from __future__ import annotations

import fiddle as fdl
import flax.linen as nn
import jax.numpy as jnp

from tests.check.house import experiment


class Unfit(nn.Module):
    """Adds what does not fit."""

    width: int

    @nn.compact
    def __call__(self, x):
        x = nn.Dense(self.width, name="inner")(x)
        x = x + jnp.ones((x.shape[0], self.width + 1))
        return nn.Dense(1)(x)


def broken():
    return experiment(model=fdl.Config(Unfit, width=8))
