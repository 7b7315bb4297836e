"""Which attributes of built objects are read while they are built and traced."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sys
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import fdlkit

# Code of these reads every field, to copy, compare, walk or show an object: that says
# nothing of what the field does.
_HOUSE = os.path.join(os.path.dirname(os.path.abspath(fdlkit.__file__)), "")
_COPIERS = (
    *(f"{os.sep}flax{os.sep}", f"{os.sep}fiddle{os.sep}", "<string>"),
    *(os.path.join(_HOUSE, *part) for part in (("check", ""), ("nn", "walk.py"))),
    os.path.join(_HOUSE, "graph", ""),
)
_READING = "__getattribute__"
_COMPARERS = frozenset({"__eq__", "__hash__", "__repr__", "__init__", "__post_init__"})


@dataclasses.dataclass
class Watch:
    """What was read.

    Attributes:
      read: The class that was watched, and the name.
    """

    read: set[tuple[type, str]] = dataclasses.field(default_factory=set)


@contextlib.contextmanager
def watching(names: Mapping[type, Collection[str]]) -> Iterator[Watch]:
    """Notes whenever one of these attributes of these classes is read.

    A class that cannot be told to note it counts as having read everything.
    """
    watch = Watch()
    changed: list[tuple[type, Any]] = []
    for kind, wanted in names.items():
        before = vars(kind).get(_READING)
        try:
            # Not by an assignment: that is to no method that the type declares.
            type.__setattr__(kind, _READING, _noting(kind, frozenset(wanted), watch))
        except (TypeError, AttributeError):
            watch.read |= {(kind, name) for name in wanted}
            continue
        changed.append((kind, before))
    try:
        yield watch
    finally:
        for kind, before in reversed(changed):
            if before is None:
                type.__delattr__(kind, _READING)
            else:
                type.__setattr__(kind, _READING, before)


def _noting(kind: type, wanted: frozenset[str], watch: Watch) -> Any:
    original: Any = kind.__getattribute__

    def read(self: Any, name: str) -> Any:
        if name == "__dict__" and not _is_copied(sys._getframe(1)):
            watch.read |= {(kind, one) for one in wanted}
        if name in wanted and not _is_copied(sys._getframe(1)):
            watch.read.add((kind, name))
        return original(self, name)

    return read


def _is_copied(frame: Any) -> bool:
    code = frame.f_code
    if code.co_name in _COMPARERS and code.co_filename == "<string>":
        return True
    return any(part in code.co_filename for part in _COPIERS)
