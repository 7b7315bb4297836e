"""A module that is built already."""

from __future__ import annotations

from tests.check.house import Tower, experiment


def broken():
    return experiment(model=Tower(width=8))
