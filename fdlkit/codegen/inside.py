"""What a leaf holds twice: a text of nested calls would make two objects of it."""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Iterable
from typing import Any


def held_twice(value: Any) -> Any:
    """Something that can be changed and that a value holds in two places; else None.

    Args:
      value: A leaf: a partial, a dataclass, a container of plain values.
    """
    numpy: Any = sys.modules.get("numpy")
    changeable = (list, dict, set, *(() if numpy is None else (numpy.ndarray,)))
    seen: dict[int, Any] = {}
    todo = [value]
    while todo:
        held = todo.pop()
        parts = _parts(held)
        if isinstance(held, changeable) or (parts and _can_change(held)):
            if id(held) in seen:
                return held
            seen[id(held)] = held
        todo += parts
    return None


def _can_change(value: Any) -> bool:
    if not dataclasses.is_dataclass(value):
        return isinstance(value, functools.partial)
    parameters: Any = getattr(type(value), "__dataclass_params__", None)
    return parameters is not None and not parameters.frozen


def _parts(value: Any) -> list[Any]:
    found: Iterable[Any] = ()
    if isinstance(value, list | tuple):
        found = value
    elif isinstance(value, dict):
        found = [*value.keys(), *value.values()]
    elif isinstance(value, functools.partial):
        found = [*value.args, *value.keywords.values()]
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        found = [getattr(value, f.name, None) for f in dataclasses.fields(value)]
    return list(found)
