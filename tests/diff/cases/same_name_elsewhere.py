"""A function of the same name from another module."""

from __future__ import annotations

import builtins
import math

from tests.diff.house import base


def old():
    cfg = base()
    cfg.data = math.pow
    return cfg


def new():
    cfg = base()
    cfg.data = builtins.pow
    return cfg
