"""Profile-guided latency estimation in a program that is compiled ahead of time."""

from __future__ import annotations

from tests.check.house import experiment

ENVIRONMENT = {"JAX_ENABLE_PGLE": "true"}


def broken():
    return experiment()
