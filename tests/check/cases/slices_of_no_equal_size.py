"""Three slices of eight devices."""

from __future__ import annotations

import fdlkit

DEVICES = 8


def broken():
    cfg = fdlkit.load("experiments/lm.py:tiny")
    cfg.mesh.dcn.data = 3
    return cfg
