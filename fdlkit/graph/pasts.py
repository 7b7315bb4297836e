"""Keeps the history of a config true when values are copied or changed in place.

Fiddle's history holds the values themselves. What it tells of a node must be what
happened to that node, also in a copy; and a list that was written is told as it was
then, whatever is done to its elements later.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import fiddle as fdl

from fdlkit.graph import fiddle_internals, walk
from fdlkit.graph.origins import ElementWrite

T = TypeVar("T")

# Mutable, and nothing that could be a config is below them.
_COPIED_WHOLE = (set, bytearray)


def follow(copies: Mapping[int, object]) -> None:
    """Makes the histories of copied nodes tell of copies, where there are any.

    Args:
      copies: By the id of each node and container that was copied, its copy.
    """
    # Containers are copied once more, since those in the copy may be changed.
    told: dict[int, object] = {}
    for node in copies.values():
        if not isinstance(node, fdl.Buildable):
            continue
        for entries in fiddle_internals.argument_history(node).values():
            for at, entry in enumerate(entries):
                write = entry.new_value
                is_part = isinstance(write, ElementWrite)
                value = write.value if is_part else write
                copy = copies.get(id(value), value)
                if copy is value:
                    continue
                if not isinstance(copy, fdl.Buildable):
                    copy = told.setdefault(id(value), copy_containers(copy))
                new = ElementWrite(write.keys, copy) if is_part else copy
                entries[at] = dataclasses.replace(entry, new_value=new)


def settle(node: fdl.Buildable, key: str | int) -> None:
    """Keeps what an argument's history tells from changing with the present value.

    To be called before a container that is set there is changed in place.
    """
    value = fiddle_internals.raw_arguments(node).get(key)
    past = copy_containers(value)
    entries = fiddle_internals.argument_history(node).get(key, [])
    for at, entry in enumerate(entries):
        if entry.new_value is value:
            entries[at] = dataclasses.replace(entry, new_value=past)


def copy_containers(value: T) -> T:
    """Copies every container down to the nodes in them, which are kept."""
    copied: dict[int, object] = {}
    for part, below in _from_below(value):
        if below is not None:
            children = [copied[id(child)] for child in below]
            copied[id(part)] = walk.with_children(part, children)
        else:
            copied[id(part)] = part.copy() if type(part) in _COPIED_WHOLE else part
    return copied[id(value)]  # type: ignore[return-value]


def _from_below(whole: object) -> Iterator[tuple[Any, list[Any] | None]]:
    """Everything once, after what is below it, which is None for no container."""
    done: set[int] = set()
    todo: list[tuple[Any, list[Any] | None]] = [(whole, None)]
    while todo:
        value, below = todo.pop()
        if id(value) in done:
            continue
        if below is None and _is_container(value):
            below = [child for _, child in walk.children(value)]
            todo.append((value, below))
            todo += [(child, None) for child in reversed(below)]
        else:
            done.add(id(value))
            yield value, below


def _is_container(value: object) -> bool:
    return not (
        isinstance(value, fdl.Buildable)
        or type(value) in _COPIED_WHOLE
        or walk.is_leaf(value)
    )
