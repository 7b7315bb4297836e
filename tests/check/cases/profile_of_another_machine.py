"""Profile-guided latency estimation on chips of which there are no such profiles."""

from __future__ import annotations

import fiddle as fdl

from fdlkit.train.pgle import AutomaticPgle
from tests.check.house import experiment

TOPOLOGY = "v4:1x1x1"


def broken():
    return experiment(pgle=fdl.Config(AutomaticPgle))
