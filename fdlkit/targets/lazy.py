"""Imports what a config's file imports lazily: overrides are checked by it."""

from __future__ import annotations

import importlib
from typing import Any

import fiddle as fdl

from fdlkit.errors import is_interrupt
from fdlkit.graph import fiddle_internals, messages, walk


def import_lazy_names(cfg: fdl.Buildable) -> tuple[str, ...]:
    """Imports the modules of what a config calls by Fiddle's `lazy_imports`.

    Returns:
      What is to be said: which of them cannot be imported here. What they name then
      takes any argument, as Fiddle has it.
    """
    failed: dict[str, str] = {}
    for module in _lazy_modules(cfg):
        try:
            importlib.import_module(module)
        except BaseException as error:  # a module may raise anything
            if is_interrupt(error):
                raise
            failed[module] = messages.brief(error)
    return tuple(
        f"what the config names in {module} is not checked: it cannot be imported here "
        f"({why})"
        for module, why in failed.items()
    )


def _lazy_modules(cfg: fdl.Buildable) -> list[str]:
    found: dict[str, None] = {}
    todo: list[Any] = [cfg]
    # By id, with the object itself so that its id stays its own.
    seen: dict[int, Any] = {}
    while todo:
        value = todo.pop()
        if id(value) in seen or walk.is_leaf(value):
            continue
        seen[id(value)] = value
        if isinstance(value, fdl.Buildable):
            name = fiddle_internals.lazy_name(fdl.get_callable(value))
            if name is not None:
                found[name[0]] = None
        todo += [child for _, child in walk.children(value)]
    return sorted(found)
