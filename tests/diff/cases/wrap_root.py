"""The whole config is inside another node now."""

from __future__ import annotations

import fiddle as fdl

from tests.diff.house import Average, base


def old():
    return base()


def new():
    return fdl.Config(Average, model=base())
