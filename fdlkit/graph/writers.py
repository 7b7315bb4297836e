"""Everything that wrote the value at a path, read from what Fiddle noted of it."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator
from typing import Any, Literal

import fiddle as fdl
from fiddle import history

from fdlkit.graph import fiddle_internals, live, origins, paths, walk
from fdlkit.graph.model import Origin
from fdlkit.graph.paths import Path, PathKey
from fdlkit.graph.references import Reference, show

WriteKind = Literal["default", "factory", "set", "unset", "callable", "tags"]


@dataclasses.dataclass(frozen=True, slots=True)
class Write:
    """One thing that gave a value, or took it away.

    Attributes:
      kind: `default` and `factory`: what the callable itself uses. `set` and `unset`.
        `callable`: the node was made to call something else. `tags`: it was tagged.
      path: What was written: the value itself; or a node or a container around it that
        was put there as a whole; or a part of it.
      value: What was written, on one line.
      origin: Who wrote it, if it is known.
      cut: The reference that stood there until then and was followed no longer.
    """

    kind: WriteKind
    path: str
    value: str
    origin: Origin | None
    cut: str = ""


def writes(root: fdl.Buildable, path: Path) -> tuple[Write, ...]:
    """What wrote the value at a path, oldest first; defaults are not among it.

    Where a node above the value has been replaced, what wrote the value in the node
    that stood there before is told too.

    Args:
      root: The config.
      path: The value's own path, without references on the way.
    """
    return _Reader(path).read(root)


@dataclasses.dataclass(frozen=True, slots=True)
class _Candidate:
    """A value that stood somewhere on the way for some time.

    Attributes:
      entry: When it was put there.
      value: The value.
      at: How many keys of the path lead to it.
    """

    entry: history.HistoryEntry
    value: Any
    at: int


class _Reader:
    def __init__(self, path: Path):
        self._path = path
        self._found: dict[int, Write] = {}
        # Values that stood on the way once, until when, and how far down.
        self._todo: list[tuple[Any, int, float]] = []
        self._seen: dict[tuple[int, int], float] = {}

    def read(self, root: fdl.Buildable) -> tuple[Write, ...]:
        """All that is found; the root is where every way begins."""
        self._todo.append((root, 0, math.inf))
        while self._todo:
            self._down(*self._todo.pop())
        return tuple(self._found[number] for number in sorted(self._found))

    def _down(self, value: Any, at: int, until: float) -> None:
        """Reads the histories on the way from one value down to the path's end."""
        while at < len(self._path):
            if isinstance(value, Reference):
                return
            if not isinstance(value, fdl.Buildable):
                value = _child(value, self._path[at])
                at += 1
                continue
            if self._seen.get((id(value), at), -math.inf) >= until:
                return
            self._seen[id(value), at] = until
            if at == len(self._path) - 1:
                self._swaps(value, at, until)
            candidates = self._candidates(value, at, until)
            self._tell(candidates, until)
            is_now = until == math.inf
            if is_now or not candidates:
                key = self._path[at]
                value = fiddle_internals.raw_arguments(value).get(key)  # type: ignore[arg-type]
                at += 1
            else:
                value, at = candidates[-1].value, candidates[-1].at
        if isinstance(value, fdl.Buildable) and not isinstance(value, Reference):
            self._swaps(value, at, until)

    def _candidates(
        self, node: fdl.Buildable, at: int, until: float
    ) -> list[_Candidate]:
        """What was put on the way at one argument of a node, oldest first."""
        key, rest = self._path[at], self._path[at + 1 :]
        found = []
        past = fiddle_internals.argument_history(node).get(key, ())  # type: ignore[arg-type]
        for entry in past:
            new = entry.new_value
            if entry.sequence_id >= until:
                break
            if entry.kind is history.ChangeKind.UPDATE_TAGS:
                if not rest:
                    tags = " ".join(sorted(f"#{tag.__name__}" for tag in new)) or "none"
                    self._add(entry, "tags", paths.format(self._path), tags)
            elif not isinstance(new, origins.ElementWrite):
                found.append(_Candidate(entry, new, at + 1))
            elif new.keys == rest[: len(new.keys)]:
                found.append(_Candidate(entry, new.value, at + 1 + len(new.keys)))
            elif new.keys[: len(rest)] == rest:
                where = paths.format((*self._path[: at + 1], *new.keys))
                self._put(entry, where, new.value)
        return found

    def _tell(self, candidates: list[_Candidate], until: float) -> None:
        before: Any = None
        for candidate, after in itertools.zip_longest(candidates, candidates[1:]):
            is_first = candidate is candidates[0]
            if not is_first or self._is_plainly_inside(candidate):
                where = paths.format(self._path[: candidate.at])
                is_whole = candidate.at == len(self._path)
                cut = _cut(before, candidate.value) if is_whole else ""
                self._put(candidate.entry, where, candidate.value, cut)
            before = candidate.value
            if after is not None and candidate.value is not history.DELETED:
                end = after.entry.sequence_id
                self._todo.append((candidate.value, candidate.at, end))

    def _is_plainly_inside(self, candidate: _Candidate) -> bool:
        """Whether only containers are between what was written and the path's end."""
        value = candidate.value
        for key in self._path[candidate.at :]:
            if isinstance(value, fdl.Buildable) or walk.is_leaf(value):
                return False
            value = _child(value, key)
        return True

    def _swaps(self, node: fdl.Buildable, at: int, until: float) -> None:
        for entry in fiddle_internals.callable_history(node)[1:]:
            if entry.sequence_id < until:
                name = live.callable_name(entry.new_value)
                self._add(entry, "callable", paths.format(self._path[:at]), name)

    def _put(
        self, entry: history.HistoryEntry, where: str, value: Any, cut: str = ""
    ) -> None:
        if value is history.DELETED:
            self._add(entry, "unset", where, "", cut)
        else:
            text = live.brief(value, entry.sequence_id)
            self._add(entry, "set", where, text, cut)

    def _add(
        self,
        entry: history.HistoryEntry,
        kind: WriteKind,
        where: str,
        value: str,
        cut: str = "",
    ) -> None:
        write = Write(kind, where, value, origins.of_entry(entry), cut)
        self._found.setdefault(entry.sequence_id, write)


def _cut(before: Any, after: Any) -> str:
    was_following = isinstance(before, Reference) and not isinstance(after, Reference)
    return show(before) if was_following else ""


def _child(value: Any, key: PathKey) -> Any:
    """What stands in a container at a key; None if nothing does."""
    if type(value) in (list, tuple) and isinstance(key, int):
        return value[key] if -len(value) <= key < len(value) else None
    if isinstance(value, dict):
        return value.get(paths.to_dict_key(key))
    return next(_at(value, key), None)


def _at(value: Any, key: PathKey) -> Iterator[Any]:
    if not walk.is_leaf(value):
        yield from (child for other, child in walk.children(value) if other == key)
