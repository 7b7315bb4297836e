"""A deep copy of a config that depth cannot break."""

from __future__ import annotations

from typing import TypeVar

from fdlkit.graph import walk
from fdlkit.graph.snapshot import snapshot

T = TypeVar("T")


def copy(config: T) -> T:
    """Copies every node and every container; what was shared is shared in the copy.

    `copy.deepcopy` recurses, and fails on configs that are a few hundred levels deep.
    Leaves (numbers, functions, arrays, ...) are taken over, not copied. Tags and
    history are kept.

    Raises:
      UserError: The config contains itself.
    """
    copied: dict[int, object] = {}
    begun: set[int] = set()
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
        elif id(value) in begun:
            snapshot(config)  # says where it is that a value holds itself
            raise AssertionError("a config that contains itself has no snapshot")
        else:
            begun.add(id(value))
            todo.append((value, True))
            todo += [(child, False) for _, child in reversed(walk.children(value))]
    return copied[id(config)]  # type: ignore[return-value]
