"""A node whose callable makes something else than the parameter's type."""

from __future__ import annotations

import fiddle as fdl

from fdlkit.train.losses import SquaredError
from tests.check.house import experiment


def broken():
    return experiment(optimizer=fdl.Config(SquaredError))
