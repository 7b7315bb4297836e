"""Defaults of functions that were changed by way of a config.

Python makes the default of `def f(xs=[])` once, and Fiddle hands that very list out:
`cfg.xs.append(1)` on an argument that is not set changes it for every later config. By
the time that a config is looked at, the harm is done; but the function's own text
still says what the default was.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import types
from typing import Any

from fdlkit.graph import paths, reprs, signatures, sources
from fdlkit.graph.model import UNKNOWN, Argument, Graph, Link, Node
from fdlkit.graph.places import Places

_MUTABLE = (list, dict, set)
_MAKERS = {"list": list, "dict": dict, "set": set}
# Methods that change what they are called on.
_CHANGES = frozenset(
    (
        *("append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse"),
        *("popitem", "update", "setdefault", "add", "discard"),
    )
)


@dataclasses.dataclass(frozen=True)
class MutatedDefault:
    """A default that is no longer what its function says, and that a config uses.

    Attributes:
      path: The path of the argument, which is not set.
      callable: The public name of what the node calls.
      name: The parameter.
      was: The default as the function's text has it.
      now: The default as every call gets it now.
    """

    path: paths.Path
    callable: str
    name: str
    was: Any
    now: Any

    def lines(self) -> tuple[str, ...]:
        """What happened and where, and what to write instead."""
        at = paths.format(self.path)
        was, now = _short(self.was), _short(self.now)
        return (
            f"  {at}: the default of {self.callable} was {self.name}={was}, "
            f"and is {now} now",
            f"    set it instead of changing what is not set: cfg.{at} = {now}",
        )


def find_mutated_defaults(
    graph: Graph, places: Places | None = None
) -> tuple[MutatedDefault, ...]:
    """The unset arguments of a config whose default is not what it was written as.

    A function that changes its own default when it is called (to remember something)
    is left alone, and so is one whose text is not there or does not say the default
    as a literal.
    """
    places = places or Places(graph)
    changed: dict[int, dict[str, Any]] = {}
    found = []
    for number in places.order:
        node = graph.nodes[number]
        if node.callable is None or not node.is_buildable:
            continue
        called = node.callable.live
        if called is UNKNOWN or not callable(called):
            continue
        if id(called) not in changed:
            changed[id(called)] = changes(called)
        for name, was in changed[id(called)].items():
            argument = node.argument(name)
            if argument is not None and argument.value is None:
                now = signatures.all_parameters(called)[name].default
                found.append(
                    MutatedDefault(
                        (*places.path(number), name), node.callable.name, name, was, now
                    )
                )
    return tuple(found)


def written_as(node: Node, argument: Argument) -> str:
    """`, written as []` of a default that was changed; empty of any other.

    Args:
      node: A node of a config.
      argument: One of its arguments.
    """
    # A list, a dict or a set is a node of its own; most defaults are none.
    if type(argument.default) is not Link or node.callable is None:
        return ""
    called = node.callable.live
    if called is UNKNOWN or not callable(called):
        return ""
    changed = changes(called)
    name = argument.key
    return f", written as {_short(changed[name])}" if name in changed else ""


def changes(called: Any) -> dict[str, Any]:
    """The parameters whose default has changed, with what it was written as."""
    found = {}
    for name, parameter in signatures.all_parameters(called).items():
        if type(parameter.default) in _MUTABLE:
            written = _written(called)
            if name in written and not _same(written[name], parameter.default):
                found[name] = written[name]
    return found


def _written(called: Any) -> dict[str, Any]:
    """The mutable defaults as a callable's text has them."""
    function, held = called, set()
    while isinstance(function, functools.partial):
        held |= set(function.keywords)  # the partial's own, whatever the function says
        function = function.func
    if inspect.isclass(function):
        function = inspect.getattr_static(function, "__init__")
    function = inspect.unwrap(function)
    if not isinstance(function, types.FunctionType):
        return {}
    return {name: value for name, value in _literals(function) if name not in held}


@functools.lru_cache(maxsize=1024)
def _literals(function: types.FunctionType) -> tuple[tuple[str, Any], ...]:
    written = sources.definition(function)
    if written is None:
        return ()
    found = []
    for name, default in sources.parameters(written):
        value = _literal(default) if default is not None else None
        if type(value) in _MUTABLE and not _is_changed_by(written, name):
            found.append((name, value))
    return tuple(found)


def _literal(default: ast.expr) -> Any:
    """The value of a default that says all of itself; None of any other."""
    match default:
        case ast.Call(func=ast.Name(id=maker), args=[], keywords=[]):
            return _MAKERS[maker]() if maker in _MAKERS else None
    try:
        return ast.literal_eval(default)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _is_changed_by(written: sources.Definition, name: str) -> bool:
    """Whether the function changes the argument itself: `cache[key] = value`."""
    for node in ast.walk(written):
        match node:
            case ast.Subscript(
                value=ast.Name(id=changed), ctx=ast.Store() | ast.Del()
            ) if changed == name:
                return True
            case ast.Attribute(value=ast.Name(id=changed), attr=method) if (
                changed == name and method in _CHANGES
            ):
                return True
            case ast.AugAssign(target=ast.Name(id=changed)) if changed == name:
                return True
    return False


def _same(one: Any, two: Any) -> bool:
    """Whether two values are the same in type and content; a config equals nothing."""
    if type(one) is not type(two):
        return False
    if isinstance(one, list | tuple):
        return len(one) == len(two) and all(map(_same, one, two))
    if isinstance(one, dict):
        return list(one) == list(two) and all(_same(one[k], two[k]) for k in one)
    return bool(one == two) or (one != one and two != two)


def _short(value: Any) -> str:
    text = reprs.text(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
