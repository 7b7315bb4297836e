"""An activation's logical axis is misspelt: it stays whole, without a word."""

from __future__ import annotations

import fiddle as fdl
import flax.linen as nn

from tests.check.house import experiment


class Misspelt(nn.Module):
    """Constrains what it computes."""

    width: int

    @nn.compact
    def __call__(self, x):
        x = nn.Dense(self.width)(x)
        x = nn.with_logical_constraint(x, ("batch", "mpl"))
        return nn.Dense(1)(x)


MESH = {"data": 2, "tensor": 4}


def broken():
    return experiment(model=fdl.Config(Misspelt, width=8))
