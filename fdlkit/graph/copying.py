"""A deep copy of a config that depth cannot break."""

from __future__ import annotations

from typing import TypeVar

from fdlkit.graph import pasts, walk

T = TypeVar("T")


def copy(config: T) -> T:
    """Copies every node and every container; what was shared is shared in the copy.

    `copy.deepcopy` recurses, and fails on configs that are a few hundred levels deep.
    Leaves (numbers, functions, arrays, ...) are taken over, not copied. Tags and
    history are kept; where the history tells of what was copied, it tells of the copy.
    """
    copied: dict[int, object] = {}
    todo: list[tuple[object, bool]] = [(config, False)]
    while todo:
        value, below_is_done = todo.pop()
        if id(value) in copied:
            continue
        if type(value) in (set, bytearray):
            copied[id(value)] = value.copy()  # type: ignore[attr-defined]
        elif walk.is_leaf(value):
            copied[id(value)] = value
        elif below_is_done:
            below = [copied[id(child)] for _, child in walk.children(value)]
            copied[id(value)] = walk.with_children(value, below)
        else:
            todo.append((value, True))
            todo += [(child, False) for _, child in reversed(walk.children(value))]
    pasts.follow(copied)
    return copied[id(config)]  # type: ignore[return-value]
