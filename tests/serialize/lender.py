"""A module that a user might allow, with something dangerous in reach."""

from __future__ import annotations

import os
from os import system

__all__ = ["make", "os", "system"]


def make() -> int:
    """Harmless."""
    return 1


def several(*things: int) -> tuple[int, ...]:
    """Harmless too."""
    return things
