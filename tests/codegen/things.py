"""What the configs of this room's tests call and hold."""

from __future__ import annotations

import collections
import dataclasses
import enum
from typing import Annotated, Any, NamedTuple

import fiddle as fdl


class Rate(fdl.Tag):
    """A rate."""


class Width(fdl.Tag):
    """A width."""


class Norm(enum.Enum):
    LAYER = "layer"
    RMS = "rms"


class Odd(enum.Enum):
    """Has a member that no attribute leads to."""

    PLAIN = 1


OddNames = enum.Enum("OddNames", {"with space": 1, "class": 2})


class Permission(enum.Flag):
    READ = 1
    WRITE = 2
    RUN = 4


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Pair(NamedTuple):
    left: Any
    right: Any = None


@dataclasses.dataclass
class Box:
    a: Any = None
    b: Any = 0.5
    c: Any = ()


@dataclasses.dataclass
class Tagged:
    rate: Annotated[float, Rate] = 0.1
    width: int = 3


@dataclasses.dataclass(frozen=True)
class Axes:
    """A value that says all of itself."""

    data: int = 1
    names: tuple[str, ...] = ()
    inner: Any = None


class Outer:
    @dataclasses.dataclass
    class Inner:
        x: int = 0

    @classmethod
    def make(cls, x: int) -> Any:
        return Box(x)


@dataclasses.dataclass
class Factory:
    items: list[int] = dataclasses.field(default_factory=list)


def collect(first, /, *rest, mode="x", **named):
    return Collected(first, rest, mode, named)


def by_place(one, two, /):
    return Collected(one, (two,), "", {})


def spread(a, b=2, *rest):
    return Collected(a, rest, b, {})


@dataclasses.dataclass
class Collected:
    first: Any
    rest: Any
    mode: Any
    named: Any


@dataclasses.dataclass
class Bag:
    """A container that Fiddle was not told of."""

    items: collections.deque


def scale(x: float, by: float = 2.0) -> float:
    return x * by


def make_scaler(by):
    def scaler(x):
        return x * by

    return scaler


class Custom(fdl.Config):
    """A Buildable that builds in its own way."""

    def __build__(self, *args, **kwargs):
        return "custom"


class Plain(fdl.Config):
    """A Buildable that is a Config by another name."""


FACTOR = 3
