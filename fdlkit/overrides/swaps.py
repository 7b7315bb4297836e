"""Which of a node's arguments another callable has too."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import fiddle as fdl

from fdlkit.graph import fiddle_internals, signatures
from fdlkit.graph.fiddle_internals import ArgumentKey

_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def swap(node: fdl.Buildable, function: Callable[..., Any]) -> list[ArgumentKey]:
    """Makes a node call something else, in place; returns the arguments dropped.

    Arguments go by their names, those for a `*args` from one `*args` to another.

    Raises:
      TypeError: The callable cannot be configured.
      ValueError: Likewise.
    """
    set_now = fdl.ordered_arguments(node)
    keys = carried(fdl.get_callable(node), function, set_now)
    dropped = [key for key, new in keys.items() if new is None]
    for key in dropped:
        fiddle_internals.drop_argument(node, key)
    kept = {key: new for key, new in keys.items() if new is not None}
    fiddle_internals.update_callable(node, function, kept)
    return dropped


def carried(
    old: Callable[..., Any], new: Callable[..., Any], keys: Iterable[ArgumentKey]
) -> dict[ArgumentKey, ArgumentKey | None]:
    """What the new callable knows the old one's arguments by; None: it has no such.

    Args:
      old: The callable that has the arguments.
      new: The callable that takes its place.
      keys: The arguments: a name, or the position of one that has no name to callers.
    """
    was = [p for p in _parameters(old) if p.kind in signatures.BY_PLACE]
    now = [p for p in _parameters(new) if p.kind in signatures.BY_PLACE]
    named = {p.name: p for p in _parameters(new) if p.kind not in _VARIADIC}
    takes_rest = any(p.kind is p.kind.VAR_POSITIONAL for p in _parameters(new))
    takes_any = signatures.takes_any(new)

    def known(key: ArgumentKey) -> ArgumentKey | None:
        if isinstance(key, int):
            if key >= len(was):
                return len(now) + key - len(was) if takes_rest else None
            key = was[key].name
        parameter = named.get(key)
        if parameter is None:
            return key if takes_any else None
        is_by_place = parameter.kind is parameter.kind.POSITIONAL_ONLY
        return now.index(parameter) if is_by_place else key

    return {key: known(key) for key in keys}


def _parameters(function: Callable[..., Any]) -> list[signatures.Parameter]:
    return [*signatures.all_parameters(function).values()]
