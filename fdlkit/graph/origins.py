"""Who wrote a value, from the history that Fiddle keeps."""

from __future__ import annotations

import contextlib
import os

import fiddle as fdl
from fiddle import history

from fdlkit.graph import fiddle_internals
from fdlkit.graph.model import Origin


def origin(node: fdl.Buildable, key: str | int) -> Origin | None:
    """Where the present value of an argument was written; None if unknown."""
    entries = fiddle_internals.argument_history(node).get(key, ())
    for entry in reversed(entries):
        if entry.kind is history.ChangeKind.NEW_VALUE:
            return Origin(entry.location.filename, entry.location.line_number)
    return None


def written_by(who: str) -> contextlib.AbstractContextManager[object]:
    """Everything set within is recorded as written by `who`: `--fdl_set=a.b=1`."""
    location = history.Location(who, 0, None)
    return history.custom_location(lambda: location)


def show(origin: Origin) -> str:
    """`experiments/lm.py:41`, as seen from the current folder; `from --fdl_set`."""
    if not origin.line:
        return f"from {origin.file}"
    relative = os.path.relpath(origin.file) if os.path.isabs(origin.file) else ""
    inside = relative and not relative.startswith(os.pardir)
    return f"{relative if inside else origin.file}:{origin.line}"
