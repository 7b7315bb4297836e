"""A config of functions that say little of what they take."""

from __future__ import annotations

import dataclasses
from typing import Any

import fiddle as fdl

from tests.overrides import relatives


@dataclasses.dataclass(frozen=True)
class Part:
    size: int = 1
    note: Any = None


class Chain:
    """Takes any number of parts."""

    def __init__(self, *parts: Part, name: str = "chain"):
        self.parts, self.name = parts, name


def only_by_place(left: int, right: int, /) -> tuple[int, int]:
    return left, right


def loud(
    value=None, label="plain", count=1, fast=False, node=None, function=len, plug=None
):
    return value, label, count, fast, node, function, plug


@dataclasses.dataclass(frozen=True)
class Holder:
    chain: Chain
    pair: Any = None
    loud: Any = None
    words: dict[str, str] = dataclasses.field(default_factory=dict)
    parts: list[Part] = dataclasses.field(default_factory=list)
    every: int | None = 3
    relative: relatives.Aunt | None = None
    default: relatives.Aunt = relatives.aunt
    rounding: Any = relatives.up


def base() -> fdl.Config[Holder]:
    return fdl.Config(
        Holder,
        chain=fdl.Config(Chain, fdl.Config(Part), fdl.Config(Part, size=2)),
        pair=fdl.Config(only_by_place, 1, 2),
        loud=fdl.Config(loud, node=fdl.Config(Part)),
    )


def grown(holder):
    holder.every = 9


def helper(holder):
    return holder


def _private(cfg):
    cfg.every = 1
