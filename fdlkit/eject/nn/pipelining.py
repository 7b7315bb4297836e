"""Pipelines, for models that have none."""

from __future__ import annotations

from typing import Any


class Pipelining:
    """What no stack of layers has here: they are computed one after another."""

    refuse_stack: Any
    run: Any
