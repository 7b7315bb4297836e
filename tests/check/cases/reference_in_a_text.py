"""A reference was formatted into a text."""

from __future__ import annotations

import fiddle as fdl

from fdlkit import ref
from fdlkit.train.writers import TensorBoard
from tests.check.house import experiment


def broken():
    steps = ref("num_train_steps")
    note = f"model trained for {steps} steps"
    return experiment(writers=[fdl.Config(TensorBoard)], allowed={"CF005": note})
