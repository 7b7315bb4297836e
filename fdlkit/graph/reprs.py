"""What values say of themselves, without waiting for ever for it.

The `repr` of an object is that of all that it holds: a diamond of thirty levels, which
any constructor can make of as many objects, takes a thousand million lines.
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Iterable
from typing import Any

from fdlkit import printable
from fdlkit.errors import is_interrupt

# An object that holds more than this, counted wherever it is held, is not written out.
_MAX_PARTS = 1000

_CONTAINERS = (list, tuple, set, frozenset)


def text(value: Any) -> str:
    """The value's `repr` on one line; `Name(...)` for an endless one."""
    if type(value) is int:
        return plain(value)
    try:
        if not is_short(value):
            return f"{type(value).__qualname__}(...)"
        return printable.clean(" ".join(repr(value).split()))
    except BaseException as broken:  # it must not hide where the value stands
        if is_interrupt(broken):
            raise
        return f"<{type(value).__qualname__}>"


def plain(value: Any) -> str:
    """The `repr` of a plain value; an int that Python will not write, by its length."""
    try:
        return repr(value)
    except ValueError:  # ints have a limit, of 4,300 digits unless it was moved
        return f"int of {_digits(value):,} digits" if type(value) is int else "(…)"


def _digits(number: int) -> int:
    """How many decimal digits an int has."""
    least = int((number.bit_length() - 1) * math.log10(2))
    return least + 1 + (abs(number) >= 10 ** (least + 1))


def is_short(value: Any) -> bool:
    """Whether what the value holds is little enough for all of it to be written."""
    todo = [value]
    for _ in range(_MAX_PARTS):
        if not todo:
            return True
        todo += _held(todo.pop())
    return not todo


def _held(value: Any) -> Iterable[Any]:
    if isinstance(value, _CONTAINERS):
        return list(value)[: _MAX_PARTS + 1]
    if isinstance(value, dict):
        return list(value.values())[: _MAX_PARTS + 1]
    if isinstance(value, type | types.ModuleType) or hasattr(value, "__name__"):
        return ()  # its name says it all
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value) if field.repr]
        return [getattr(value, name, None) for name in names]
    return list(getattr(value, "__dict__", {}).values())
