"""What a name of a file most likely is called now, where it leads nowhere any more."""

from __future__ import annotations

import inspect
import pkgutil
import sys
from collections.abc import Callable
from typing import Any

from fdlkit import suggest
from fdlkit.graph import names
from fdlkit.graph.model import Symbol
from fdlkit.serialize.allowed import NAMES


def name(
    symbol: Symbol, owner: Any, part: str, is_allowed: Callable[[Symbol], bool]
) -> str:
    """Words to add to what is wrong with a name: what it may be now.

    Args:
      symbol: The name.
      owner: The module or class that has no such part any more.
      part: The part.
      is_allowed: Whether a file may use a name.
    """
    moved = _elsewhere(symbol, is_allowed)
    if moved is not None:
        return f", {suggest.did_you_mean(f'{moved.module}:{moved.qualname}')}"
    listed = NAMES.get(symbol.module) if inspect.ismodule(owner) else None
    public = [
        candidate
        for candidate in dir(owner)
        if not candidate.startswith("_")
        and (listed is None or candidate in listed)
        and _is_own(owner, candidate)
    ]
    near = suggest.nearest(part, public, n=1)
    if not near:
        return ""
    where = f"{symbol.module}:" if inspect.ismodule(owner) else ""
    return f", {suggest.did_you_mean(f'{where}{near[0]}')}"


def listed(symbol: Symbol) -> str:
    """The same for a name that is not among those that every file may use."""
    here = NAMES.get(symbol.module, ())
    near = [f"{symbol.module}:{n}" for n in suggest.nearest(symbol.qualname, here, n=1)]
    if not here:  # the module that defines it, in place of the one that publishes it
        top = symbol.module.partition(".")[0]
        near = [
            f"{module}:{symbol.qualname}"
            for module, names_in in NAMES.items()
            if module.partition(".")[0] == top and symbol.qualname in names_in
        ]
    return f", {suggest.did_you_mean(near[0])}" if near else ""


def module(name: str) -> str:
    """The same for a module that cannot be imported."""
    parent, _, last = name.rpartition(".")
    folders = getattr(sys.modules.get(parent), "__path__", None)
    if folders is None:
        return ""
    inside = [found.name for found in pkgutil.iter_modules(folders)]
    near = suggest.nearest(last, [one for one in inside if one[0] != "_"], n=1)
    return f", {suggest.did_you_mean(f'{parent}.{near[0]}')}" if near else ""


def _elsewhere(symbol: Symbol, is_allowed: Callable[[Symbol], bool]) -> Symbol | None:
    """The same name in another module that is loaded and may be used."""
    top = symbol.module.partition(".")[0]
    for candidate in sorted(sys.modules):
        if candidate.partition(".")[0] != top or candidate == symbol.module:
            continue
        moved = Symbol(candidate, symbol.qualname)
        if is_allowed(moved) and names.reach(candidate, symbol.qualname) is not None:
            return moved
    return None


def _is_own(owner: Any, candidate: str) -> bool:
    """Whether it is something that a config can name, and the owner's own."""
    found = inspect.getattr_static(owner, candidate, None)
    if inspect.isclass(owner) or not callable(found):
        return inspect.isclass(owner) and found is not None
    home = getattr(found, "__module__", None) or ""
    return home.partition(".")[0] == owner.__name__.partition(".")[0]
