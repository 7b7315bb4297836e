"""A config inside a set of options that no build looks into."""

from __future__ import annotations

import collections

import fiddle as fdl

from fdlkit.train.metrics import MeanLoss
from tests.check.house import experiment


def broken():
    metrics = collections.UserDict(loss=fdl.Config(MeanLoss))
    return experiment(metrics=metrics)
