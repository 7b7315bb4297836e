"""From JSON text to a config, calling nothing and resolving only what is allowed."""

from __future__ import annotations

import collections
import enum
import importlib
import inspect
import sys
from collections.abc import Collection, Iterator
from typing import Any

import fiddle as fdl
from fiddle import daglish, tag_type

from fdlkit import suggest
from fdlkit.errors import UserError, is_interrupt
from fdlkit.graph import messages, module_names, names, paths, signatures
from fdlkit.graph.model import UNKNOWN, DType, Graph, Leaf, Member, Node, Symbol
from fdlkit.graph.places import Places
from fdlkit.graph.restore import restore
from fdlkit.serialize.allowed import DTYPES, NAMES, OWN_PACKAGES
from fdlkit.serialize.reading import read

Held = Symbol | Member | DType


def loads(text: str, allow: Collection[str] = (), *, source: str = "") -> Any:
    """The config that `dumps` wrote.

    Args:
      text: What `dumps` returned.
      allow: Modules whose functions and classes may be used besides those that
        fdlkit lists: `["experiments.lm"]`. Exact names; neither a module's submodules
        nor what it imports from elsewhere are allowed with it.
      source: The file that the text is from. JSON keeps no history; with this, each
        value is known to have come from that file.

    Returns:
      A new config. Nothing in it has been called.

    Raises:
      UserError: The text is damaged, or uses a name that is not allowed, is not there
        or has lost a parameter. All such names are listed, with the first places.
    """
    graph = read(text)
    lookup = _Lookup(allow)
    problems = list(_problems(graph, lookup))
    if problems:
        lines = _told(problems)
        if lookup.refused:
            flags = ", ".join(f"--allow={name}" for name in sorted(lookup.refused))
            lines.append(f"allow a module of your own with --allow=PKG.MOD: {flags}")
        raise UserError("this JSON cannot be loaded", *lines)
    return restore(graph, lookup.resolve, source=source)


# Of what is wrong in many places, how many are listed.
_PLACES = 5


def _told(problems: list[tuple[str, str]]) -> list[str]:
    lines = []
    counts: collections.Counter[str] = collections.Counter()
    for path, problem in problems:
        counts[problem] += 1
        if counts[problem] <= _PLACES:
            lines.append(f"  {path}: {problem}")
    for problem, count in counts.items():
        if count > _PLACES:
            lines.append(f"  in {count - _PLACES:,} more places: {problem}")
    return lines


def _problems(graph: Graph, lookup: _Lookup) -> Iterator[tuple[str, str]]:
    places = Places(graph)
    if isinstance(graph.root, Leaf):
        for problem in lookup.problems(graph.root.value):
            yield paths.ROOT, problem
    for number in places.order:
        # Paths are spelled for problems only: there may be many, and long ones.
        for key, problem in _problems_of(graph.nodes[number], lookup):
            path = places.path(number)
            yield paths.brief(path if key is None else (*path, key)), problem


def _problems_of(
    node: Node, lookup: _Lookup
) -> Iterator[tuple[paths.PathKey | None, str]]:
    """What is wrong with a node (key None) and with what it holds directly."""
    wrong = [*lookup.problems(node.type), *lookup.problems(node.callable)]
    if not wrong:
        wrong = list(_misfits(node, lookup))
    if not wrong and node.callable is not None and node.is_buildable:
        keys = [argument.key for argument in node.arguments]
        wrong = list(_unknown_parameters(lookup.resolve(node.callable), keys))
    for problem in wrong:
        yield None, problem
    for argument in node.arguments:
        held = argument.value.value if isinstance(argument.value, Leaf) else None
        key = argument.key.value if isinstance(argument.key, paths.Key) else None
        for one in (held, key, *argument.tags):
            for problem in lookup.problems(one):
                yield argument.key, problem
        for tag in argument.tags:
            known = not any(lookup.problems(tag))
            if known and not isinstance(lookup.resolve(tag), tag_type.TagType):
                yield argument.key, f"{tag.name} is no tag"


def _misfits(node: Node, lookup: _Lookup) -> Iterator[str]:
    """Classes that are not what the node's kind needs: `restore` makes objects of them.

    A class that is none of these is never called, here or there.
    """
    if node.kind == "buildable" and node.type is not None:
        found = lookup.resolve(node.type)
        if not (inspect.isclass(found) and issubclass(found, fdl.Buildable)):
            yield f"{node.type.name} is no kind of Buildable"
    elif node.kind == "namedtuple" and node.callable is not None:
        found = lookup.resolve(node.callable)
        fields = tuple(getattr(found, "_fields", ()))
        if not (inspect.isclass(found) and daglish.is_namedtuple_subclass(found)):
            yield f"{node.callable.name} is no NamedTuple"
        elif fields != tuple(argument.key for argument in node.arguments):
            yield f"{node.callable.name} has other fields: {', '.join(fields)}"


def _unknown_parameters(called: Any, keys: list[paths.PathKey]) -> Iterator[str]:
    if not callable(called):
        yield f"{called!r} cannot be called"
        return
    if signatures.takes_any(called):
        return
    known = [
        parameter.name
        for parameter in signatures.all_parameters(called).values()
        if parameter.kind in signatures.BY_NAME
    ]
    for key in keys:
        if isinstance(key, str) and key not in known:
            hint = suggest.hint(key, known)
            yield f"no parameter '{key}'" + (f", {hint}" if hint else "")


class _Lookup:
    """Looks names up, each once, under the rules of what is allowed."""

    def __init__(self, allow: Collection[str]):
        self._allow = frozenset(allow)
        self._found: dict[Held, Any] = {}
        self._wrong: dict[Held, str] = {}
        # Modules that a user might allow: neither Python's own nor those with a list.
        self.refused: set[str] = set()

    def problems(self, held: Any) -> Iterator[str]:
        """Why a name cannot be used; nothing for one that can, or for no name."""
        if not isinstance(held, Symbol | Member | DType):
            return
        if isinstance(held, Symbol) and held.live is not UNKNOWN:
            return
        if held not in self._found and held not in self._wrong:
            try:
                self._found[held] = self._look_up(held)
            except _NotUsableError as error:
                self._wrong[held] = str(error)
        if held in self._wrong:
            yield self._wrong[held]

    def resolve(self, held: Held) -> Any:
        """What a name leads to; one that `problems` has found good."""
        if isinstance(held, Symbol) and held.live is not UNKNOWN:
            return held.live
        return self._found[held]

    def _look_up(self, held: Held) -> Any:
        if isinstance(held, DType):
            return _dtype(held.name)
        if isinstance(held, Symbol):
            return self._symbol(held)
        found = self._symbol(held.enum)
        if not (inspect.isclass(found) and issubclass(found, enum.Enum)):
            raise _NotUsableError(f"{held.enum.name} is no enum")
        if held.name in found.__members__:
            return found[held.name]
        hint = suggest.hint(held.name, found.__members__)
        raise _NotUsableError(
            f"{held.enum.name} has no member '{held.name}'"
            + (f", {hint}" if hint else "")
        )

    def _symbol(self, symbol: Symbol) -> Any:
        if not self._is_allowed(symbol):
            package = symbol.module.partition(".")[0]
            if package not in sys.stdlib_module_names and symbol.module not in NAMES:
                self.refused.add(symbol.module)
            near = suggest.nearest(symbol.qualname, NAMES.get(symbol.module, ()), n=1)
            hint = suggest.did_you_mean(f"{symbol.module}:{near[0]}") if near else None
            raise _NotUsableError(
                f"{symbol.module}:{symbol.qualname} is not allowed"
                + (f", {hint}" if hint else "")
            )
        module = found = _module(symbol.module)
        at = symbol.module
        for part in symbol.qualname.split("."):
            if found is not module and not inspect.isclass(found):
                raise _NotUsableError(f"{at} is no class, to have '{part}' in it")
            if part not in dir(found):
                hint = suggest.hint(part, dir(found))
                raise _NotUsableError(
                    f"{at} has no '{part}'" + (f", {hint}" if hint else "")
                )
            found, at = getattr(found, part), f"{at}.{part}"
        if inspect.ismodule(found):
            raise _NotUsableError(f"{at} is a module")
        # What a module imported from elsewhere answers to its own name, not to this.
        own = names.find(found)
        if own != symbol:
            really = f", it is {own.module}:{own.qualname}" if own else ""
            raise _NotUsableError(f"{at} is not defined there{really}")
        return found

    def _is_allowed(self, symbol: Symbol) -> bool:
        if symbol.module in self._allow:
            return True
        if symbol.qualname in NAMES.get(symbol.module, ()):
            return True
        is_private = any(part.startswith("_") for part in symbol.name.split("."))
        return not is_private and any(
            symbol.module == package or symbol.module.startswith(f"{package}.")
            for package in OWN_PACKAGES
        )


class _NotUsableError(Exception):
    """A name that is not allowed, or that leads to nothing that can be used."""


def _module(name: str) -> Any:
    if name not in sys.modules and name == module_names.main_name():
        return sys.modules["__main__"]  # importing it would run the program again
    try:
        return importlib.import_module(name)
    except ImportError as error:
        why = f"{name} cannot be imported: {error}"
        if module_names.is_stand_in(name):
            why += (
                "; such a name stands for a file whose own name cannot be imported, or "
                "is another module's: rename that file, and write the JSON again"
            )
        raise _NotUsableError(why) from None
    except BaseException as error:  # a module may raise anything
        if is_interrupt(error):
            raise
        raise _NotUsableError(messages.raised(f"importing {name}", error)[0]) from error


def _dtype(name: str) -> Any:
    if name not in DTYPES:
        hint = suggest.hint(name, sorted(DTYPES))
        raise _NotUsableError(f"no dtype '{name}'" + (f", {hint}" if hint else ""))
    import numpy

    try:
        return numpy.dtype(name)
    except TypeError:  # bfloat16 and the float8 family are not NumPy's own
        import ml_dtypes

        return numpy.dtype(getattr(ml_dtypes, name))
