"""What the names of an old file are called now: see `test_outgrown`."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any, NamedTuple

import fiddle as fdl


class Speed(fdl.Tag):
    """A speed."""


class Paint(enum.Enum):
    SILVER = 1
    RED = 2


class Wheel(NamedTuple):
    radius: int
    width: int = 3


@dataclasses.dataclass(frozen=True)
class Size:
    """A value."""

    length: int
    height: int = 1


@dataclasses.dataclass
class Engine:
    power: int = 1
    cylinders: int = 4


@dataclasses.dataclass
class Vehicle:
    engine: Any = None
    wheels: Any = ()
    paint: Any = None
    size: Any = None


def assemble(*parts: Any, polish: bool = False) -> Any:
    """Returns what it is given."""
    return parts, polish


def drive(vehicle: Any, speed: float = 1.0) -> Any:
    """Returns what it is given."""
    return vehicle, speed
