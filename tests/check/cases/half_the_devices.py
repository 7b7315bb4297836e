"""A mesh of four on eight devices: half of them would be idle."""

from __future__ import annotations

import fdlkit

DEVICES = 8


def broken():
    cfg = fdlkit.load("experiments/lm.py:tiny")
    cfg.mesh.ici.data = 2
    cfg.mesh.ici.fsdp = 2
    return cfg
