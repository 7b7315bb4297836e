"""A constructor raises."""

from __future__ import annotations

from tests.check.house import experiment


def broken():
    return experiment(log_every=0)
