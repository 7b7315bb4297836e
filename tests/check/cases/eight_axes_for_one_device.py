"""A mesh for eight on the one device there is."""

from __future__ import annotations

import fdlkit

DEVICES = 1


def broken():
    cfg = fdlkit.load("experiments/lm.py:tiny")
    cfg.mesh.ici.data = 1
    cfg.mesh.ici.tensor = 8
    return cfg
