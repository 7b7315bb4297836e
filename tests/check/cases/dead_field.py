"""A field of a module that nothing reads."""

from __future__ import annotations

import fiddle as fdl
import flax.linen as nn

from tests.check.house import experiment


class Knobs(nn.Module):
    """Reads one of its two fields."""

    width: int
    residual_sacle: float = 1.0

    @nn.compact
    def __call__(self, x):
        residual_scale = self.variables.get("residual_scale", 1.0)
        return nn.Dense(1)(nn.Dense(self.width)(x) * residual_scale)


def broken():
    return experiment(model=fdl.Config(Knobs, width=8, residual_sacle=0.5))
