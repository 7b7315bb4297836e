"""An input by a name that the model does not have."""

from __future__ import annotations

import fdlkit


def broken():
    cfg = fdlkit.load("experiments/lm.py:tiny")
    cfg.inputs = {"token": "batch.tokens"}
    return cfg
