"""A folder without a checkpoint."""

from __future__ import annotations

from tests.check.house import experiment

RESTORE = "tests/check/cases"


def broken():
    return experiment()
