"""Who wrote a value: the history that Fiddle keeps, and what it is told to keep.

Fiddle notes, for each argument, every value that was set and the line that set it.
What a command line sets has no line, and what is set inside a list has no argument:
here they are given one.
"""

from __future__ import annotations

import bisect
import contextlib
import dataclasses
import os
import sys
import types
from collections.abc import Sequence
from typing import Any

import fiddle as fdl
from fiddle import history

from fdlkit import tracebacks
from fdlkit.graph import fiddle_internals, paths
from fdlkit.graph.model import Cause, Origin
from fdlkit.graph.paths import Path

# No line of Fiddle's or of this room's is the one that wrote a value.
_NOT_USERS = tuple(
    os.path.dirname(os.path.abspath(file)) + os.sep for file in (fdl.__file__, __file__)
)


@dataclasses.dataclass(frozen=True)
class _CausedLocation(history.Location):
    """A location of Fiddle's that knows which override is behind it."""

    cause: Cause | None = None

    def __deepcopy__(self, memo: Any) -> _CausedLocation:
        return self


@dataclasses.dataclass(frozen=True)
class ElementWrite:
    """What the history of an argument holds where a part of its value was written.

    Attributes:
      keys: The way from the argument's value to the part.
      value: What was written; `history.DELETED` if it was taken away.
    """

    keys: Path
    value: Any

    def __repr__(self) -> str:
        return f"{paths.relative(self.keys)} = {self.value!r}"


def of_entry(entry: history.HistoryEntry) -> Origin | None:
    """Where one entry of a history was written; None if a library's line is all.

    Fiddle's helpers (`fdl.add_tag`, selectors) leave a line of their own there, unless
    `written_by_lines` was around.
    """
    location = entry.location
    if location.filename.startswith(_NOT_USERS):
        return None
    cause = location.cause if isinstance(location, _CausedLocation) else None
    return Origin(location.filename, location.line_number, cause)


class Reader:
    """Reads origins, each made once: there are far fewer lines than values."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, int, Cause | None], Origin | None] = {}

    def origin(self, node: fdl.Buildable, key: str | int) -> Origin | None:
        """Where the present value of an argument was written; None if unknown."""
        entries = fiddle_internals.argument_history(node).get(key, ())
        for entry in reversed(entries):
            if entry.kind is history.ChangeKind.NEW_VALUE:
                return self._of(entry)
        return None

    def made(self, node: fdl.Buildable) -> Origin | None:
        """Where a node was made; None if unknown."""
        entries = fiddle_internals.callable_history(node)
        return self._of(entries[0]) if entries else None

    def swapped(self, node: fdl.Buildable) -> Origin | None:
        """Who made a node call something else last; None if nobody did."""
        entries = fiddle_internals.callable_history(node)
        return self._of(entries[-1]) if len(entries) > 1 else None

    def _of(self, entry: history.HistoryEntry) -> Origin | None:
        at = entry.location
        cause = at.cause if type(at) is _CausedLocation else None
        key = at.filename, at.line_number, cause
        if key not in self._found:
            self._found[key] = of_entry(entry)
        return self._found[key]


def birth(node: fdl.Buildable) -> int | None:
    """A number that a node has in common with its copies alone; None if unknown.

    Fiddle counts what is written to any history, the making of a node included, and a
    copy remembers the making of the node that it is of.
    """
    entries = fiddle_internals.callable_history(node)
    return entries[0].sequence_id if entries else None


def written_by(
    who: str, number: int = 0, text: str = ""
) -> contextlib.AbstractContextManager[object]:
    """Everything set within is recorded as written by `who`: `--fdl_set`, a JSON file.

    Args:
      who: The flag, or the file.
      number: The override's place on the command line, from 1; 0 if it is none.
      text: The override.
    """
    cause = Cause(who, number, text) if number else None
    location = _CausedLocation(who, 0, None, cause)
    return history.custom_location(lambda: location)


def written_at(file: str, line: int) -> contextlib.AbstractContextManager[object]:
    """Everything set within is recorded as written by a line of a file."""
    location = _CausedLocation(file, line, None)
    return history.custom_location(lambda: location)


def written_by_lines(
    cause: Cause | None = None,
) -> contextlib.AbstractContextManager[object]:
    """Everything set within is recorded with the line of the user's that set it.

    So it is anyway, but for what is set through Fiddle's own helpers: there Fiddle
    would often name a line of its own.

    Args:
      cause: The fiddler that is running.
    """

    def here() -> history.Location:
        frame = sys._getframe(1)
        while frame.f_back is not None:
            if not frame.f_code.co_filename.startswith(_NOT_USERS):
                break
            frame = frame.f_back
        code = frame.f_code
        line = lines.of(frame)
        return _CausedLocation(code.co_filename, line, code.co_name, cause)

    lines = _Lines()
    return history.custom_location(here)


class _Lines:
    """Finds the lines that frames are in.

    Python looks for each from the beginning of the function, so that one of 10,000
    lines, each of which makes a node, would take a hundred times as long as one of
    1,000.
    """

    def __init__(self) -> None:
        # By the id of the code, with the code itself so that its id stays its own.
        self._known: dict[int, tuple[types.CodeType, list[int], list[int]]] = {}

    def of(self, frame: types.FrameType) -> int:
        """The line that a frame is in."""
        known = self._known.get(id(frame.f_code))
        if known is None:
            table = list(frame.f_code.co_lines())
            starts = [start for start, _, _ in table]
            found = [line or 0 for _, _, line in table]
            known = self._known[id(frame.f_code)] = frame.f_code, starts, found
        at = bisect.bisect_right(known[1], frame.f_lasti) - 1
        return (known[2][at] if at >= 0 else 0) or frame.f_lineno


def record(
    node: fdl.Buildable, key: str | int, keys: Sequence[paths.PathKey], value: Any
) -> None:
    """Notes that an argument's value, or a part of it, was written in place.

    Args:
      node: The node.
      key: The argument.
      keys: The way from the argument's value to the part; empty for the whole value.
      value: What was written; `history.DELETED` if it was taken away.
    """
    write = ElementWrite(tuple(keys), value) if keys else value
    fiddle_internals.record_value(node, key, write)


def show(origin: Origin) -> str:
    """`experiments/lm.py:41`, as seen from the current folder; `from --fdl_set`."""
    if not origin.line:
        return f"from {tracebacks.shown_path(origin.file)}"
    return f"{shown_file(origin.file)}:{origin.line}"


def short(origin: Origin) -> str:
    """The same in a column: `experiments/lm.py:41`, `--fdl_set #2`, `config.json`."""
    number = f"#{origin.cause.number}" if origin.cause else ""
    if not origin.line:
        return f"{tracebacks.shown_path(origin.file)} {number}".rstrip()
    by = f" (fiddler {number})" if number else ""
    return f"{shown_file(origin.file)}:{origin.line}{by}"


def full(origin: Origin) -> str:
    """The same with the whole override; a file without lines says what it is."""
    if origin.line:
        place = f"{shown_file(origin.file)}:{origin.line}"
        return f"{place}, by {origin.cause}" if origin.cause else place
    if origin.cause:
        return str(origin.cause)
    return f"{tracebacks.shown_path(origin.file)}, which keeps no history"


def shown_file(file: str) -> str:
    """A file from the current folder; one of an installed library, from its top."""
    for folder in ("site-packages", "dist-packages"):
        _, found, below = file.rpartition(f"{os.sep}{folder}{os.sep}")
        if found:
            return below
    return tracebacks.shown_path(file)
