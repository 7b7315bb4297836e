"""Three logical names for an activation of two dims."""

from __future__ import annotations

import fiddle as fdl
import flax.linen as nn

from tests.check.house import experiment


class OtherRank(nn.Module):
    """Constrains what it computes."""

    width: int

    @nn.compact
    def __call__(self, x):
        x = nn.Dense(self.width)(x)
        x = nn.with_logical_constraint(x, ("batch", "time", "mlp"))
        return nn.Dense(1)(x)


MESH = {"data": 2}


def broken():
    return experiment(model=fdl.Config(OtherRank, width=8))
