"""Configs that contain themselves, which Python allows and nothing here can use."""

from __future__ import annotations

import collections
from typing import Any

import fiddle as fdl

from fdlkit.errors import UserError
from fdlkit.graph import names, paths, walk
from fdlkit.graph.paths import PathKey


def error(value: Any) -> UserError:
    """What is to be raised of a value that is below itself; finds the shortest way."""
    came_from: dict[int, tuple[Any, PathKey]] = {}
    todo = collections.deque([value])
    while todo and id(value) not in came_from:
        holder = todo.popleft()
        for key, child in walk.children(holder):
            if id(child) not in came_from and not walk.is_leaf(child):
                came_from[id(child)] = holder, key
                todo.append(child)
    keys: list[PathKey] = []
    at = value
    while not keys or at is not value:
        at, key = came_from[id(at)]
        keys.append(key)
    inside = paths.brief(tuple(reversed(keys)))
    what = type(value).__qualname__
    if isinstance(value, fdl.Buildable):
        what = f"{what} of {names.Names().symbol(fdl.get_callable(value)).name}"
    return UserError(
        f"the config contains itself: a {what} holds itself at {inside}",
        "a config may use a node in many places, but not inside that node",
    )
