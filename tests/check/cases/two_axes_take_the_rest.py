"""Two mesh axes are -1, and one has no size."""

from __future__ import annotations

import fdlkit

DEVICES = 8


def broken():
    cfg = fdlkit.load("experiments/lm.py:tiny")
    cfg.mesh.ici.fsdp = -1
    cfg.mesh.ici.tensor = 0
    return cfg
