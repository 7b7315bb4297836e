"""A deep copy of a config that depth cannot break."""

from __future__ import annotations

from typing import TypeVar

import fiddle as fdl

from fdlkit.graph import origins, walk

T = TypeVar("T")


def copy(config: T) -> T:
    """Copies every node and every container; what was shared is shared in the copy.

    `copy.deepcopy` recurses, and fails on configs that are a few hundred levels deep.
    Leaves (numbers, functions, arrays, ...) are taken over, not copied. Tags and
    history are kept; where the history tells of a node that was copied, it tells of
    the copy.
    """
    copied: dict[int, object] = {}
    # What histories tell of: the same copies of nodes, and containers that no one will
    # change, so that they stay what was written when.
    told: dict[int, object] = {}
    todo: list[tuple[object, bool]] = [(config, False)]
    while todo:
        value, below_is_done = todo.pop()
        number = id(value)
        if number in copied:
            continue
        if type(value) in (set, bytearray):
            copied[number] = value.copy()  # type: ignore[attr-defined]
        elif walk.is_leaf(value):
            copied[number] = value
        elif below_is_done:
            below = [id(child) for _, child in walk.children(value)]
            made = walk.with_children(value, [copied[child] for child in below])
            copied[number] = told[number] = made
            if not isinstance(value, fdl.Buildable):
                then = [told.get(child, copied[child]) for child in below]
                told[number] = walk.with_children(value, then)
        else:
            todo.append((value, True))
            todo += [(child, False) for _, child in reversed(walk.children(value))]
    for value in copied.values():
        if isinstance(value, fdl.Buildable):
            origins.redirect(value, told)
    return copied[id(config)]  # type: ignore[return-value]
