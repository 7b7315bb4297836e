"""The class itself, where one of its instances belongs."""

from __future__ import annotations

from fdlkit.train.checkpoints import CheckpointPolicy
from tests.check.house import experiment


def broken():
    return experiment(checkpoints=CheckpointPolicy)
