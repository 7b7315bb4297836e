"""Flags that do not begin with dashes are taken for the name of a file."""

from __future__ import annotations

from tests.check.house import experiment

ENVIRONMENT = {"XLA_FLAGS": "xla_dump_to=there"}


def broken():
    return experiment()
