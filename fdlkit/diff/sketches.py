"""How alike two subtrees are, told from a few of their parts."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from fdlkit.diff.classes import MOST, Classes

# Parts that are remembered of a subtree. Of more than these a sample is compared.
_PARTS = 24

# Pairs of values that are looked at, and into, to see what two have in common in place.
_GLANCE = 256

# Spreads numbers that count up over all numbers, the same way in every process.
_SPREAD, _MASK = 0x9E3779B97F4A7C15, (1 << 64) - 1


class Sketches:
    """Likeness of classes of nodes; a class is looked at once, when it is asked for."""

    def __init__(self, classes: Classes):
        self._classes = classes
        self._done: dict[int, tuple[int, ...]] = {}
        self._parts: dict[tuple[object, ...], int] = {}

    def likeness(self, one: int, two: int) -> float:
        """Which share of their leaves and callables two classes have in common."""
        if one == two:
            return 1.0
        x, y = self._sketch(one), self._sketch(two)
        both = sorted({*x, *y})[:_PARTS]
        common = {*x} & {*y}
        return sum(part in common for part in both) / max(len(both), 1)

    def in_place(self, one: int, two: int) -> float:
        """Which share of two classes is seen at a glance to be the same, in its place.

        Sizes of what is equal and stands in one place, as a part of all that there is
        in either. What has moved inside is not seen, nor what is deep among many
        differences. Needs no sketch of either.
        """
        classes = self._classes
        whole = classes.sizes[one] + classes.sizes[two]
        if whole >= MOST:
            return 0.0
        same = looked = 0
        # Pairs by how often they stand there, level by level: of what is shared there
        # are far more places than pairs.
        level = {(one, two): 1}
        while level:
            below: dict[tuple[int, int], int] = {}
            for (x, y), count in level.items():
                looked += 1
                if x == y:
                    same += count * classes.sizes[x]
                    continue
                was, now = classes.entries[x], classes.entries[y]
                if was is None or now is None or was[0] != now[0]:
                    continue
                same += count
                for pair in _pairs(was[1], now[1]) if looked < _GLANCE else ():
                    below[pair] = below.get(pair, 0) + count
            level = below
        return same / (whole - same)

    def sketch(self, number: int) -> tuple[int, ...]:
        """The parts that stand for a class."""
        return self._sketch(number)

    def _sketch(self, whole: int) -> tuple[int, ...]:
        todo = [whole]
        while todo:
            number = todo[-1]
            if number in self._done:
                todo.pop()
                continue
            entries = self._classes.entries[number]
            below = [] if entries is None else list(map(_below, entries[1]))
            missing = [
                child
                for _, child in below
                if child >= 0
                and self._classes.entries[child] is not None
                and child not in self._done
            ]
            if missing:
                todo += missing
                continue
            todo.pop()
            self._done[number] = self._combine(number, below)
        return self._done[whole]

    def _combine(self, number: int, below: list[tuple[object, int]]) -> tuple[int, ...]:
        entries = self._classes.entries[number]
        head = -1 if entries is None else entries[0]
        parts = {self._part(("head", head))}
        for key, child in below:
            inner = self._done.get(child)
            if inner is None:
                parts.add(self._part(("leaf", head, key, child)))
            else:
                parts.update(inner)
        return tuple(sorted(parts)[:_PARTS])

    def _part(self, key: tuple[object, ...]) -> int:
        number = self._parts.setdefault(key, len(self._parts) + 1)
        return number * _SPREAD & _MASK


def _pairs(was: Collection[Any], now: Collection[Any]) -> Iterable[tuple[int, int]]:
    """The classes of what stands in one place of two nodes of one head."""
    if was and now and isinstance(was, tuple) and isinstance(was[0], int):
        return zip(was, now, strict=False)
    there = {key: number for key, number, *_ in was} if now else {}
    return [
        (there[key], number)
        for key, number, *_ in (now if there else ())
        if number >= 0 and there.get(key, -1) >= 0
    ]


def _below(entry: object) -> tuple[object, int]:
    """Key and class of one entry of a class, whatever its form."""
    if isinstance(entry, tuple):
        return entry[0], entry[1]
    assert isinstance(entry, int)
    return None, entry
