"""The public name of a function or class, checked by identity."""

from __future__ import annotations

import enum
import inspect
import sys
from typing import Any

from fdlkit.graph import arrays, fiddle_internals, members, module_names, reprs, values
from fdlkit.graph.model import UNKNOWN, DType, LeafValue, Member, Opaque, Symbol

# What looks like a module and is none: its names are public all the same.
_NAMESPACES = (("jax", "checkpoint_policies"),)

_ATOMS = frozenset({bool, int, float, complex, str, bytes})


class Names:
    """Names objects; remembers what it found, for as long as one walk lasts."""

    def __init__(self) -> None:
        # By id, with the object itself so that its id stays its own.
        self._found: dict[int, tuple[object, Symbol | None]] = {}

    def symbol(self, thing: Any) -> Symbol:
        """The symbol of a callable, importable or not."""
        found = self._lookup(thing)
        if found is not None:
            return found
        module, qualname = _own_name(thing)
        return Symbol(module, qualname, importable=False, live=thing)

    def leaf(self, value: Any) -> LeafValue:
        """The form of a value that has nothing below it."""
        held = self.simple(value)
        if held is not UNKNOWN:
            return held
        try:
            return values.take(value, self.simple)
        except values.LostError:
            return Opaque(self.symbol(type(value)).name, reprs.text(value), live=value)

    def simple(self, value: Any) -> LeafValue:
        """The same for a value that has no parts; `UNKNOWN` for any other."""
        if value is None or type(value) in _ATOMS:
            return value
        if isinstance(value, enum.Enum):
            if (name := members.name(value)) is not None:
                return Member(self.symbol(type(value)), name, live=value)
        elif (array := arrays.take(value)) is not None:
            return array
        elif _is_dtype(value):
            if (name := arrays.dtype_name(value)) is not None:
                return DType(name, live=value)
        elif callable(value) and (found := self._lookup(value)) is not None:
            return found
        return UNKNOWN

    def _lookup(self, thing: Any) -> Symbol | None:
        known = self._found.get(id(thing))
        if known is None:
            known = self._found[id(thing)] = thing, find(thing)
        return known[1]


def _is_dtype(value: Any) -> bool:
    dtype = getattr(sys.modules.get("numpy"), "dtype", None)
    return dtype is not None and isinstance(value, dtype)


def find(thing: Any) -> Symbol | None:
    """The shortest public name that imports `thing`, None if no name does.

    Only modules that are loaded already are looked at. `optax._src.alias.adamw` is
    `optax.adamw`, `jax._src.nn.functions.relu` is `jax.nn.relu`.
    """
    lazy = fiddle_internals.lazy_name(thing)
    if lazy is not None:  # is named without being imported: that is what it is for
        return Symbol(*lazy, live=thing)
    module, qualname = _own_name(thing)
    if (listed := _in_namespace(thing)) is not None:
        return listed
    if not module or "<" in qualname:
        return None
    if module in module_names.MAIN and reach(module, qualname) is thing:
        # `__main__` is another module in every process; its file's name is not.
        return Symbol(module_names.main_name() or "__main__", qualname, live=thing)
    for candidate in _modules(module, qualname):
        if reach(candidate, qualname) is thing or _same_method(
            reach(candidate, qualname), thing
        ):
            return Symbol(candidate, qualname, live=thing)
    return None


def _in_namespace(thing: Any) -> Symbol | None:
    """The name of what a library publishes as an attribute of no module."""
    for module, namespace in _NAMESPACES:
        held = getattr(sys.modules.get(module), namespace, None)
        for name in sorted(getattr(held, "__dict__", ())):
            if vars(held)[name] is thing and not name.startswith("_"):
                return Symbol(module, f"{namespace}.{name}", live=thing)
    return None


def defined_as(thing: Any) -> tuple[str, str] | None:
    """The module that defines a function or class, and its name there; it may lie."""
    module, qualname = _own_name(thing)
    return (module, qualname) if module else None


def reach(module: str, qualname: str) -> Any:
    """What a name in a loaded module leads to; None if it leads nowhere."""
    found: Any = sys.modules.get(module)
    for part in qualname.split("."):
        if found is None:
            return None
        found = inspect.getattr_static(found, part, None)
        if isinstance(found, classmethod | staticmethod):
            return None if found is None else _bound(module, qualname)
    return found


def _bound(module: str, qualname: str) -> Any:
    found: Any = sys.modules[module]
    for part in qualname.split("."):
        found = getattr(found, part)
    return found


def _same_method(found: Any, thing: Any) -> bool:
    """Class methods are bound anew each time they are looked up."""
    return inspect.ismethod(thing) and inspect.ismethod(found) and found == thing


def _own_name(thing: Any) -> tuple[str, str]:
    module = getattr(thing, "__module__", None)
    qualname = getattr(thing, "__qualname__", None) or getattr(thing, "__name__", None)
    if not isinstance(qualname, str):
        return "", type(thing).__qualname__
    return module if isinstance(module, str) else "", qualname


def _modules(module: str, qualname: str) -> list[str]:
    """Loaded modules that may hold a public name, the best first."""
    parts = module.split(".")
    public = [part for part in parts if not part.startswith("_")]
    near = [".".join(public[: n + 1]) for n in range(len(public))]
    found = [name for name in near if name in sys.modules]
    if public != parts:
        # A private module of a package: any public module of it may re-export.
        first = qualname.partition(".")[0]
        prefix = f"{parts[0]}."
        found += sorted(
            (
                name
                for name, loaded in sys.modules.copy().items()
                if name.startswith(prefix)
                and not any(part.startswith("_") for part in name.split("."))
                and first in getattr(loaded, "__dict__", ())
            ),
            key=lambda name: (name.count("."), len(name), name),
        )
        found.append(module)
    return found
