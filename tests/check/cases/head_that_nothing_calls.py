"""Two nodes, of which the model uses one for both."""

from __future__ import annotations

import fiddle as fdl
import flax.linen as nn

from tests.check.house import Layer, experiment


class Lazy(nn.Module):
    """Calls its first layer twice."""

    first: nn.Module
    second: nn.Module

    @nn.compact
    def __call__(self, x):
        x = self.first(nn.Dense(8)(x))
        return self.first(x)[:, :1] if self.second else x


def broken():
    layers = [fdl.Config(Layer, width=8) for _ in range(2)]
    return experiment(model=fdl.Config(Lazy, first=layers[0], second=layers[1]))
