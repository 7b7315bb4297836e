"""Key paths of an input, of the loss and of a metric, each a little wrong."""

from __future__ import annotations

import fdlkit


def broken():
    cfg = fdlkit.load("experiments/lm.py:tiny")
    cfg.inputs = {"tokens": "batch.token"}
    cfg.loss.labels = "batch.lables"
    cfg.metrics["bits_per_byte"].labels = "batch.label"
    return cfg
