"""Predictions [8] against labels [8, 1]: every row against every other."""

from __future__ import annotations

import fiddle as fdl
import flax.linen as nn

from tests.check.house import experiment


class Flat(nn.Module):
    """Gives one number a row."""

    width: int

    @nn.compact
    def __call__(self, x):
        x = nn.Dense(self.width)(x)
        return nn.Dense(1)(x)[:, 0]


def broken():
    return experiment(model=fdl.Config(Flat, width=8))
