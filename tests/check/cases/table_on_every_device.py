"""A table without logical names, seven hundredths of all parameters, on each device."""

from __future__ import annotations

import fiddle as fdl
import flax.linen as nn
import jax.numpy as jnp

from tests.check.house import experiment

MESH = {"fsdp": 4}


class Tables(nn.Module):
    """One kernel that is cut, and a table that is not."""

    @nn.compact
    def __call__(self, x):
        named = nn.with_logical_partitioning(nn.initializers.ones, ("embed", None))
        table = self.param("table", nn.initializers.ones, (4, 7))
        kernel = self.param("kernel", named, (4, 93))
        return jnp.sum(x @ kernel, -1, keepdims=True) + jnp.sum(x @ table)


def broken():
    return experiment(model=fdl.Config(Tables))
