"""A layer that computes in float16, and gradients that may vanish in it."""

from __future__ import annotations

import fiddle as fdl
import flax.linen as nn
import jax.numpy as jnp

from tests.check.house import experiment


class Half(nn.Module):
    """One layer."""

    @nn.compact
    def __call__(self, x):
        return nn.Dense(1, dtype=jnp.float16)(x)


def broken():
    return experiment(model=fdl.Config(Half))
