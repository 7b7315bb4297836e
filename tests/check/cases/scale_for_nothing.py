"""A loss scale where all is float32."""

from __future__ import annotations

import fiddle as fdl

from fdlkit.train.loss_scale import DynamicLossScale
from tests.check.house import experiment


def broken():
    return experiment(loss_scale=fdl.Config(DynamicLossScale))
