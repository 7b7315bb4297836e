"""A deep copy of a config that depth cannot break."""

from __future__ import annotations

from typing import Any, TypeVar

from fdlkit.graph import circles, walk
from fdlkit.graph.paths import PathKey

T = TypeVar("T")


def copy(config: T) -> T:
    """Copies every node and every container; what was shared is shared in the copy.

    `copy.deepcopy` recurses, and fails on configs that are a few hundred levels deep.
    Leaves (numbers, functions, arrays, ...) are taken over, not copied. Tags and
    history are kept.

    Raises:
      UserError: The config contains itself.
    """
    copied: dict[int, Any] = {}  # by the id of the original; no leaves
    open_below: dict[int, list[tuple[PathKey, Any]]] = {}  # of what is being copied
    todo: list[Any] = [config]
    while todo:
        value = todo[-1]
        key = id(value)
        if key in copied or _is_leaf(value):
            todo.pop()
        elif key not in open_below:
            if type(value) in (set, bytearray):
                copied[key] = value.copy()
                continue
            open_below[key] = below = walk.children(value)
            for _, child in reversed(below):
                if id(child) in open_below:
                    raise circles.error(child)
                todo.append(child)
        else:
            parts = [(k, copied.get(id(c), c)) for k, c in open_below.pop(key)]
            copied[key] = walk.with_children(value, parts)
            todo.pop()
    return copied.get(id(config), config)


def _is_leaf(value: Any) -> bool:
    return type(value) not in (set, bytearray) and walk.is_leaf(value)
