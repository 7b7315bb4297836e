"""Intermediates of a model: no key path asks for any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def wanted_interms(*parts: Any, keys: Sequence[str] = ()) -> tuple[()]:
    """None is read."""
    del parts, keys
    return ()


def wanted_parts(*parts: Any, keys: Sequence[str] = ()) -> tuple[()]:
    """Nothing of what a model gives is read at a log point."""
    del parts, keys
    return ()
