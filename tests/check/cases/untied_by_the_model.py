"""One node, of which the model makes a copy with parameters of its own."""

from __future__ import annotations

import fiddle as fdl
import flax.linen as nn

from tests.check.house import Layer, experiment


class Untying(nn.Module):
    """Calls what it is given, and a copy of it."""

    first: nn.Module
    second: nn.Module

    @nn.compact
    def __call__(self, x):
        x = self.first(nn.Dense(8)(x))
        return self.second.copy(name="another")(x)[:, :1]


def broken():
    layer = fdl.Config(Layer, width=8)
    return experiment(model=fdl.Config(Untying, first=layer, second=layer))
