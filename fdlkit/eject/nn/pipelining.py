"""Pipelines, for models that have none."""

from __future__ import annotations


class Pipelining:
    """What no stack of layers has here: they are computed one after another."""
