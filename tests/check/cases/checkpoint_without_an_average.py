"""A run that is to keep an average goes on from one that kept none."""

from __future__ import annotations

import fiddle as fdl

from fdlkit.train.ema import Ema
from tests.check.house import experiment

RESTORE = "tests/check/checkpoints"


def broken():
    return experiment(ema=fdl.Config(Ema, decay=0.99))
