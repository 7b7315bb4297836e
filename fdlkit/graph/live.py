"""Values of a living config on one line, for messages about single places."""

from __future__ import annotations

import math
from typing import Any

import fiddle as fdl

from fdlkit.graph import fiddle_internals, names, texts, walk
from fdlkit.graph.model import Leaf
from fdlkit.graph.references import Reference, show
from fdlkit.graph.snapshot import snapshot

# Of containers with more in them only the size is told.
_MAX_PARTS = 64


def brief(value: Any, at: float = math.inf) -> str:
    """A leaf, a reference, a small container; `Transformer(...)`, `[90 elements]`.

    Args:
      value: The value.
      at: A number of Fiddle's history: a node is named by what it called then.
    """
    if isinstance(value, Reference):
        return show(value)
    if isinstance(value, fdl.Buildable):
        return f"{_called(value, at)}(...)"
    if type(value) not in (set, frozenset) and walk.is_leaf(value):
        return texts.leaf(Leaf(names.Names().leaf(value)))
    if _is_small_and_plain(value):
        graph = snapshot(value)
        return texts.brief(graph, graph.root)
    return f"{type(value).__name__} of {len(walk.children(value))}"


def callable_name(called: Any) -> str:
    """The public name of a function or class, or else the name that it was given."""
    return names.Names().symbol(called).name


def _called(node: fdl.Buildable, at: float) -> str:
    past = [
        entry
        for entry in fiddle_internals.callable_history(node)
        if entry.sequence_id <= at
    ]
    called = past[-1].new_value if past else fdl.get_callable(node)
    how = {fdl.Partial: "partial ", fdl.ArgFactory: "factory "}.get(type(node), "")
    if fiddle_internals.is_tagged_value_fn(called):
        return "TaggedValue"
    return f"{how}{names.Names().symbol(called).short}"


def _is_small_and_plain(value: Any) -> bool:
    """Whether it holds few things, and no node but references."""
    todo, count = [value], 0
    while todo:
        below = walk.children(todo.pop())
        count += len(below)
        if count > _MAX_PARTS:
            return False
        for _, child in below:
            if isinstance(child, fdl.Buildable) and not isinstance(child, Reference):
                return False
            if not isinstance(child, Reference):
                todo.append(child)
    return True
