"""A deep copy of a config that depth cannot break."""

from __future__ import annotations

from typing import Any, TypeVar

from fdlkit.graph import circles, pasts, walk

T = TypeVar("T")


def copy(config: T) -> T:
    """Copies every node and every container; what was shared is shared in the copy.

    `copy.deepcopy` recurses, and fails on configs that are a few hundred levels deep.
    Leaves (numbers, functions, arrays, ...) are taken over, not copied. Tags and
    history are kept; where the history tells of what was copied, it tells of the copy.

    Raises:
      UserError: The config contains itself.
    """
    copied: dict[int, Any] = {}  # by the id of the original; no leaves
    open_below: dict[int, list[Any]] = {}  # children of what is being copied
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
            below = open_below[key] = [child for _, child in walk.children(value)]
            for child in reversed(below):
                if id(child) in open_below:
                    raise circles.error(child)
                todo.append(child)
        else:
            below = open_below.pop(key)
            new = [copied.get(id(child), child) for child in below]
            copied[key] = walk.with_children(value, new)
            todo.pop()
    pasts.follow(copied)
    return copied.get(id(config), config)


def _is_leaf(value: Any) -> bool:
    return type(value) not in (set, bytearray) and walk.is_leaf(value)
