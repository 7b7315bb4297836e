# ruff: noqa: F722 - these strings are names of axes, and no Python
"""One name for two sizes in a module's annotations."""

from __future__ import annotations

import fiddle as fdl
import flax.linen as nn
import jax.numpy as jnp
from jaxtyping import Array, Float

from tests.check.house import experiment


class Scaled(nn.Module):
    """Says that its scale is as wide as its input."""

    @nn.compact
    def __call__(
        self, x: Float[Array, "batch width"], scale: Float[Array, " width"]
    ) -> Float[Array, "batch width"]:
        return x * scale[:1]


class Model(nn.Module):
    """Gives it one of another width."""

    width: int

    @nn.compact
    def __call__(self, x):
        x = nn.Dense(self.width)(x)
        return nn.Dense(1)(Scaled(name="scaled")(x, jnp.ones(self.width + 1)))


def broken():
    return experiment(model=fdl.Config(Model, width=8))
