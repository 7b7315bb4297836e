"""The whole config is another one."""

from __future__ import annotations

import fiddle as fdl

from tests.diff.house import Norm, base


def old():
    return base()


def new():
    return fdl.Config(Norm, epsilon=0.1)
