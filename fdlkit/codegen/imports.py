"""What a program imports, how, and under which names: sorted, without collisions."""

from __future__ import annotations

import builtins
import collections
import keyword
import sys
from collections.abc import Iterable

from fdlkit.codegen.program import Imported

# How JAX code is written: the statement, and the name that it binds.
_ALIASES = {
    "fiddle": ("import fiddle as fdl", "fdl"),
    "flax.linen": ("from flax import linen as nn", "nn"),
    "flax.nnx": ("from flax import nnx", "nnx"),
    "jax.numpy": ("import jax.numpy as jnp", "jnp"),
    "numpy": ("import numpy as np", "np"),
    "orbax.checkpoint": ("import orbax.checkpoint as ocp", "ocp"),
    "etils.epath": ("from etils import epath", "epath"),
    "fiddle.tagging": ("from fiddle import tagging", "tagging"),
    "fiddle.experimental.dict_config": (
        "from fiddle.experimental import dict_config",
        "dict_config",
    ),
}

# Single names that are imported from where they are, and what they are then called.
_SINGLE = {
    ("collections.abc", "Callable"): "Callable",
    ("fdlkit", "ref"): "ref",
    ("jax.sharding", "PartitionSpec"): "P",
    ("typing", "Any"): "Any",
}

# Packages whose functions are written with the whole dotted path.
_WHOLE = ("jax",)

# Names that nothing in a program may be called.
RESERVED = frozenset({*dir(builtins), *keyword.kwlist, *keyword.softkwlist})


class Imports:
    """The import statements of a program, and what each imported thing is called.

    Attributes:
      bound: The names that the statements bind.
    """

    def __init__(self, wanted: Iterable[Imported], taken: Iterable[str] = ()) -> None:
        """Settles the names of everything that is imported.

        Args:
          wanted: All of it.
          taken: Names that the program needs for something else.
        """
        self._texts: dict[Imported, str] = {}
        self._lines: set[str] = set()
        self.bound: set[str] = set()
        reserved = RESERVED | set(taken)
        plain = sorted(set(wanted), key=lambda one: (one.module, one.qualname))
        claims: dict[str, set[tuple[str, str]]] = collections.defaultdict(set)
        for one in plain:
            name = _own_binding(one)
            claims[name].add(_origin(one))
        clashing = {
            name
            for name, origins in claims.items()
            if len(origins) > 1 or name in reserved
        }
        avoided = reserved | set(claims)
        modules = {
            one.module
            for one in plain
            if one.qualname and "." in one.module and _own_binding(one) in clashing
        }
        self._tails = _tails(modules, avoided)
        for one in plain:
            if _own_binding(one) in clashing:
                self._bind_module(one, avoided)
            else:
                self._bind(one)

    def text(self, one: Imported) -> str:
        """What is written for an imported thing."""
        return self._texts[one]

    def block(self) -> str:
        """All statements, sorted: Python's own, then packages, then the user's own."""
        sections: dict[int, list[str]] = collections.defaultdict(list)
        for line in _merged(self._lines):
            sections[_section(_module_of(line))].append(line)
        return "\n\n".join(
            "\n".join(sorted(sections[number], key=_order))
            for number in sorted(sections)
        )

    def _bind(self, one: Imported) -> None:
        if one.module in _ALIASES and (one.module, one.qualname) not in _SINGLE:
            line, name = _ALIASES[one.module]
            text = f"{name}.{one.qualname}".rstrip(".")
        elif (single := _SINGLE.get((one.module, one.qualname))) is not None:
            name = text = single
            alias = "" if single == one.qualname else f" as {single}"
            line = f"from {one.module} import {one.qualname}{alias}"
        elif _is_whole(one):
            name = one.module.partition(".")[0]
            line = f"import {_to_import(one.module)}"
            text = f"{one.module}.{one.qualname}".rstrip(".")
        elif not one.qualname:
            package, _, name = one.module.rpartition(".")
            line, text = f"from {package} import {name}", name
        else:
            name = one.qualname.partition(".")[0]
            line, text = f"from {one.module} import {name}", one.qualname
        self._add(one, line, name, text)

    def _bind_module(self, one: Imported, avoided: frozenset[str]) -> None:
        """By its module, by the whole path of that, or by a name made of it all."""
        if one.qualname and (tail := self._tails.get(one.module)):
            package = one.module.rpartition(".")[0]
            line = f"from {package} import {tail}"
            self._add(one, line, tail, f"{tail}.{one.qualname}")
            return
        top = one.module.partition(".")[0]
        claimed = avoided - {top} if _is_whole(one) else avoided
        if top not in claimed and _is_reached(one.module):
            text = f"{one.module}.{one.qualname}".rstrip(".")
            self._add(one, f"import {one.module}", top, text)
            return
        package, _, last = one.module.rpartition(".")
        first, dot, rest = one.qualname.partition(".")
        name = "_".join(part for part in (one.module.replace(".", "_"), first) if part)
        while name in avoided:
            name += "_"
        if one.qualname:
            line = f"from {one.module} import {first} as {name}"
        elif package:
            line = f"from {package} import {last} as {name}"
        else:
            line = f"import {last} as {name}"
        self._add(one, line, name, f"{name}{dot}{rest}")

    def _add(self, one: Imported, line: str, name: str, text: str) -> None:
        self._texts[one] = text
        self._lines.add(line)
        self.bound.add(name)


def _tails(modules: Iterable[str], avoided: frozenset[str]) -> dict[str, str]:
    """The last names of modules, where they tell them apart and mean nothing else."""
    found: dict[str, list[str]] = collections.defaultdict(list)
    for module in modules:
        found[module.rpartition(".")[2]].append(module)
    return {
        those[0]: tail
        for tail, those in found.items()
        if len(those) == 1 and tail not in avoided and _is_reached(those[0])
    }


def _own_binding(one: Imported) -> str:
    """The name that the statement for it binds where nothing else claims it."""
    if (single := _SINGLE.get((one.module, one.qualname))) is not None:
        return single
    if one.module in _ALIASES:
        return _ALIASES[one.module][1]
    if _is_whole(one):
        return one.module.partition(".")[0]
    if not one.qualname:
        return one.module.rpartition(".")[2]
    return one.qualname.partition(".")[0]


def _origin(one: Imported) -> tuple[str, str]:
    """What the bound name means: two with the same do not clash."""
    if (one.module, one.qualname) in _SINGLE:
        return one.module, one.qualname
    if one.module in _ALIASES:
        return one.module, ""
    if _is_whole(one):
        return one.module.partition(".")[0], ""
    if not one.qualname:
        return one.module, ""
    return one.module, one.qualname.partition(".")[0]


def _is_whole(one: Imported) -> bool:
    """Whether it is written `optax.adamw`, `jax.nn.relu`, and not `adamw`."""
    if "." not in one.module:  # of a user's own module the names are imported
        return not one.qualname or _section(one.module) < _OWN
    top = one.module.partition(".")[0]
    return top in _WHOLE and _is_reached(one.module)


def _is_reached(module: str) -> bool:
    """Whether `import a.b` makes `a.b` lead to the module, and not to a namesake."""
    top, *rest = module.split(".")
    at = sys.modules.get(top)
    for part in rest:
        at = getattr(at, part, None)
    return at is not None and at is sys.modules.get(module)


def _to_import(module: str) -> str:
    """The module to import so that the whole path can be written."""
    top = module.partition(".")[0]
    # Whoever imports JAX has these; others, such as `jax.experimental`, are asked for.
    always = ("nn", "numpy", "lax", "random", "sharding", "tree", "tree_util")
    is_there = top == "jax" and module.split(".")[1:2] in [[name] for name in always]
    return top if is_there and module.count(".") == 1 else module


def _merged(lines: Iterable[str]) -> list[str]:
    """One `from` statement for each module; `import jax` beside `import jax.nn`."""
    found: dict[str, set[str]] = collections.defaultdict(set)
    merged = []
    for line in lines:
        if line.startswith("from "):
            module, _, names = line[5:].partition(" import ")
            found[module].add(names)
        else:
            merged.append(line)
    for module, members in found.items():
        told = ", ".join(sorted(members, key=_member))
        merged.append(f"from {module} import {told}")
    return merged


def _member(name: str) -> tuple[int, str, str]:
    """Constants, then classes, then functions, as import sorters do."""
    plain = name.partition(" ")[0]
    kind = 0 if plain.isupper() and len(plain) > 1 else 1 if plain[:1].isupper() else 2
    return kind, plain.lower(), name


def _module_of(line: str) -> str:
    return line.split()[1]


def _order(line: str) -> tuple[bool, str, str]:
    return line.startswith("from "), _module_of(line).lower(), line


# The section of a user's own modules.
_OWN = 2


def _section(module: str) -> int:
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names:
        return 0
    if top == "fdlkit":
        return _OWN
    loaded = sys.modules.get(top)
    where = [getattr(loaded, "__file__", None) or "", *getattr(loaded, "__path__", [])]
    is_installed = any("site-packages" in w or "dist-packages" in w for w in where)
    return 1 if is_installed else _OWN
