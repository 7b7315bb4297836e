"""The changes while they are found: kept in order, moves put together at the end."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fdlkit.diff.classes import Side, exact_key
from fdlkit.diff.fragment import Fragment
from fdlkit.diff.model import (
    Called,
    Change,
    Copied,
    Diff,
    Inserted,
    Moved,
    Old,
    Removed,
    Set,
    Unset,
)
from fdlkit.graph.model import Node, Value
from fdlkit.graph.paths import Path

# A node of the old graph (or the nth copy of it) that a new node is: (n, number).
Token = tuple[int, int]


class Report:
    """Collects changes, and makes a diff of them."""

    def __init__(self, old: Side, new: Side):
        self._old, self._new = old, new
        self._said: list[Change | None] = []
        # For each change when its node was reached: changes of one node stand together.
        self._ranks: list[int] = []
        self._values: list[Value | Node] = []
        # What was put in and taken out, by where it is in `_said`, to tell moves.
        self._put: list[tuple[int, int]] = []
        self._gone: dict[tuple[Token, Any], int] = {}

    def value(self, value: Value | Node) -> int:
        """Keeps a value that a change puts in; returns its number."""
        self._values.append(value)
        return len(self._values) - 1

    def say(self, change: Change, rank: int) -> None:
        """Adds a change of the node that was reached as number `rank`."""
        self._said.append(change)
        self._ranks.append(rank)

    def put(self, change: Set | Inserted, rank: int, node: int | None) -> None:
        """Adds a change that puts in a value, a node of the new graph maybe."""
        is_new = isinstance(change, Inserted) or (
            change.old is None or change.old.is_default
        )
        if node is not None and is_new:
            self._put.append((len(self._said), node))
        self.say(change, rank)

    def gone(self, change: Unset | Removed, rank: int, holder: Token) -> None:
        """Adds a change that takes a value out of an old node."""
        assert change.key is not None
        self._gone[holder, exact_key(change.key)] = len(self._said)
        self.say(change, rank)

    def diff(
        self,
        tokens: Mapping[int, Token | None],
        keeps: Sequence[Mapping[int, None]],
        kept: Callable[[int], Old | None],
    ) -> Diff:
        """All of it.

        Args:
          tokens: What each new node is that was reached; None: it is brand-new.
          keeps: For each copy the old nodes that it takes over as they are.
          kept: Gives what a new node was.
        """
        for at, change in enumerate(self._said):
            if isinstance(change, Copied):
                shared = tuple(map(self._old.places.path, keeps[change.copy]))
                self._said[at] = dataclasses.replace(change, keeps=shared)
        self._merge_moves(tokens)
        fragment = Fragment(self._new, kept)
        order = sorted(range(len(self._said)), key=self._ranks.__getitem__)
        used = [change for n in order if (change := self._said[n]) is not None]
        for change in used:
            for index in _values_of(change):
                fragment.add(self._values[index])
        changes = []
        count = 0
        for change in used:
            if _values_of(change):
                at = len(fragment.kept) + count
                change = _with_value(change, at, fragment.holds(count))
                count += 1
            changes.append(change)
        return Diff(tuple(changes), fragment.graph(), tuple(fragment.kept.values()))

    def _merge_moves(self, tokens: Mapping[int, Token | None]) -> None:
        """A node that was taken out in one place and put in at another has moved."""
        for at, y in self._put:
            token = tokens.get(y)
            change = self._said[at]
            if token is None or token[0] or change is None:
                continue
            holders = self._old.places.holders[token[1]]
            if len(holders) != 1:
                continue
            holder, key = holders[0]
            gone = self._gone.pop(((0, holder), exact_key(key)), None)
            if gone is None:
                continue
            assert isinstance(change, Set | Inserted)
            self._said[gone] = None
            path = self._old.places.path(holder)
            self._said[at] = Moved(
                path=change.path,
                node=change.node,
                called=change.called,
                holder=change.holder,
                key=change.key,
                from_holder=Old(path),
                from_key=key,
                from_path=(*path, key),
                element=isinstance(change, Inserted),
                new=change.new,
            )


def _values_of(change: Change) -> tuple[int, ...]:
    if isinstance(change, Set | Inserted):
        return (change.value,)
    return (change.head,) if isinstance(change, Called) else ()


def _with_value(
    change: Change, index: int, holds: tuple[tuple[Path, Path], ...]
) -> Change:
    if isinstance(change, Set | Inserted):
        new = dataclasses.replace(change.new, holds=holds)
        return dataclasses.replace(change, value=index, new=new)
    assert isinstance(change, Called)
    return dataclasses.replace(change, head=index)
