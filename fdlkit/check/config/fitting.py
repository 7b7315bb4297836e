"""Whether a value of a config is what an annotation says, as far as can be told.

What cannot be told fits: there is no finding about a type that nobody can read, nor
about a duck. The answer is None, or what is wrong and how surely.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import inspect
import numbers
import os
import types
import typing
from typing import Any

import numpy as np

from fdlkit import suggest
from fdlkit.graph import signatures, texts
from fdlkit.graph.model import (
    UNKNOWN,
    Array,
    Graph,
    Leaf,
    Link,
    Made,
    Node,
    Opaque,
    Symbol,
    Value,
)
from fdlkit.graph.paths import Path
from fdlkit.overrides import hints, scalars

_MAX_ELEMENTS = 200
_TEXTS = (str, bytes)
_NUMBERS: dict[Any, type] = {
    int: numbers.Integral,
    float: numbers.Real,
    complex: numbers.Complex,
    bool: bool,
}
_SEQUENCES = ("list", "tuple", "namedtuple")
_SETS = ("set", "frozenset")
# Annotations of these packages say shapes, or whatever can be made an array.
_ARRAY_PACKAGES = ("jax", "jaxlib", "jaxtyping", "numpy", "chex", "ml_dtypes")


@dataclasses.dataclass(frozen=True)
class Misfit:
    """A value that is not what its annotation says.

    Attributes:
      what: What is wrong: `is '12', not an int`.
      is_sure: Whether it cannot be right; else it is odd, and may work.
      nearest: What would be right.
      meant: What was likely meant.
      keys: The way to it from the value that was looked at, if it is a part of that.
    """

    what: str
    is_sure: bool = False
    nearest: tuple[str, ...] = ()
    meant: str = ""
    keys: Path = ()


def misfit(
    graph: Graph, value: Value, annotation: Any, *, name: str = ""
) -> Misfit | None:
    """What is wrong with a value where an annotation stands; None if nothing is.

    Args:
      graph: The graph that the value is in; the value is no reference.
      value: The value.
      annotation: The annotation.
      name: The parameter's name: of `dtype` it says what `Any` does not.
    """
    try:
        return _misfit(graph, value, hints.plain(annotation), name)
    except Exception:  # noqa: BLE001 - annotations and metaclasses are anybody's code
        return None


def _misfit(graph: Graph, value: Value, annotation: Any, name: str) -> Misfit | None:
    if isinstance(value, Leaf) and value.live is UNKNOWN:
        return None
    if hints.is_dtype(annotation, name):
        return _dtype(value)
    if hints.says_nothing(annotation):
        return None
    if (members := hints.union_members(annotation)) is not None:
        found = [_misfit(graph, value, member, "") for member in members]
        if any(one is None for one in found):
            return None
        meant = next((one for one in found if one and one.meant), None)
        return dataclasses.replace(
            meant or Misfit(""),
            what=_is_not(graph, value, annotation),
            is_sure=all(one is not None and one.is_sure for one in found),
        )
    if annotation is types.NoneType:
        is_none = isinstance(value, Leaf) and value.value is None
        # That a node or a word is no None is never what is wrong with it.
        return None if is_none else Misfit(_is_not(graph, value, annotation), True)
    if typing.get_origin(annotation) is typing.Literal:
        return _literal(graph, value, annotation)
    if hints.wants_callable(annotation):
        return _callable(graph, value, annotation)
    if hints.container_of(annotation) is not None:
        return _container(graph, value, annotation)
    if annotation in _NUMBERS or annotation is str or annotation is bytes:
        return _scalar(graph, value, annotation)
    if inspect.isclass(annotation):
        return _instance(graph, value, annotation)
    return None


def _is_not(graph: Graph, value: Value, annotation: Any) -> str:
    shown = texts.brief(graph, value)
    if len(shown) > 60:
        shown = f"{shown[:59]}…"
    return f"is {shown}, not {hints.describe(annotation)}"


def _dtype(value: Value) -> Misfit | None:
    held = value.value if isinstance(value, Leaf) else None
    if not isinstance(held, str) or held in scalars.DTYPES:
        return None
    try:
        np.dtype(held)
    except TypeError:
        near = suggest.nearest(held, scalars.DTYPES)
        meant = suggest.did_you_mean(near[0] if near else None) or ""
        nearest = tuple(map(repr, near))
        return Misfit(f"is {held!r}, not a dtype", True, nearest, meant)
    return None


def _literal(graph: Graph, value: Value, annotation: Any) -> Misfit | None:
    choices = typing.get_args(annotation)
    if not isinstance(value, Leaf) or _is_odd(value.value):
        return None
    if any(value.live == choice for choice in choices):
        return None
    names = [str(choice) for choice in choices]
    meant = suggest.hint(str(value.live), names) or ""
    near = suggest.nearest(str(value.live), names)
    likely = sorted(choices, key=lambda c: str(c) not in near[:1])
    listed = tuple(map(repr, likely))
    return Misfit(_is_not(graph, value, annotation), True, listed, meant)


def _callable(graph: Graph, value: Value, annotation: Any) -> Misfit | None:
    if isinstance(value, Link) or value.value is None:
        made = graph.node(value)
        if made is None or made.is_buildable or made.kind == "custom":
            return Misfit(_is_not(graph, value, annotation)) if made is None else None
        return Misfit(_is_not(graph, value, annotation))
    if callable(value.live):
        return None
    return Misfit(_is_not(graph, value, annotation))


def _container(graph: Graph, value: Value, annotation: Any) -> Misfit | None:
    kind = hints.container_of(annotation)
    wrong = Misfit(_is_not(graph, value, annotation))
    if isinstance(value, Leaf):
        if isinstance(value.value, Symbol) or _is_odd(value.value):
            return None  # an array, a range, a user's own sequence
        if isinstance(value.value, str) and kind is object:
            # A string is a sequence of strings, and hardly ever meant as one.
            return dataclasses.replace(wrong, nearest=(f"[{value.value!r}]",))
        if isinstance(value.value, bytes) and kind is object:
            return None
        return dataclasses.replace(wrong, is_sure=value.value is not None)
    node = graph.nodes[value.node]
    if node.is_buildable or node.kind == "custom":
        return None
    if kind is dict:
        if "dict" not in node.kind:
            return dataclasses.replace(wrong, is_sure=True)
        wanted = hints.element_types(annotation, 1)[1]
        return _elements(graph, node, (wanted,) * len(node.arguments))
    if "dict" in node.kind:
        return None if kind is object else dataclasses.replace(wrong, is_sure=True)
    if node.kind in _SETS and kind not in (set, frozenset, object):
        return wrong
    wanted_types = hints.element_types(annotation, len(node.arguments))
    if len(wanted_types) != len(node.arguments):
        count = len(node.arguments)
        elements = f"{count} element{'s' * (count != 1)}"
        return Misfit(f"has {elements}, not {len(wanted_types)}")
    return _elements(graph, node, wanted_types)


def _elements(graph: Graph, node: Node, wanted: tuple[Any, ...]) -> Misfit | None:
    pairs = zip(node.arguments[:_MAX_ELEMENTS], wanted, strict=False)
    for argument, annotation in pairs:
        inner = graph.node(argument.value)
        if argument.value is None or (inner is not None and inner.kind == "reference"):
            continue
        found = _misfit(graph, argument.value, hints.plain(annotation), "")
        if found is not None:
            return dataclasses.replace(found, keys=(argument.key, *found.keys))
    return None


def _scalar(graph: Graph, value: Value, annotation: Any) -> Misfit | None:
    wrong = Misfit(_is_not(graph, value, annotation))
    if isinstance(value, Link):
        node = graph.nodes[value.node]
        if node.kind == "config":
            return _made(graph, value, node, annotation)
        if node.kind in (*_SEQUENCES, *_SETS) or "dict" in node.kind:
            return dataclasses.replace(wrong, is_sure=True)
        return wrong if node.kind in ("partial", "arg_factory") else None
    held, live = value.value, value.live
    if annotation in _TEXTS:
        return None if isinstance(live, annotation) or _is_odd(held) else wrong
    if isinstance(held, _TEXTS):
        number = _number(str(live), annotation)
        nearest = () if number is None else (repr(number),)
        return dataclasses.replace(wrong, is_sure=True, nearest=nearest)
    if isinstance(live, _NUMBERS[annotation]) or _is_odd(held):
        return None
    if annotation is int and isinstance(live, float):
        whole = live.is_integer()
        nearest = (repr(int(live)),) if whole else ()
        return dataclasses.replace(wrong, nearest=nearest)
    return wrong


def _is_odd(held: Any) -> bool:
    """Whether it is an object of a type of its own, which may pass for many another."""
    return isinstance(held, Opaque | Made | Array)


def _number(text: str, annotation: Any) -> Any:
    try:
        return annotation(text)
    except (ValueError, TypeError):
        return None


def _instance(graph: Graph, value: Value, annotation: type) -> Misfit | None:
    package = annotation.__module__.partition(".")[0]
    if getattr(annotation, "_is_protocol", False) or package in _ARRAY_PACKAGES:
        return None
    wrong = Misfit(_is_not(graph, value, annotation))
    if isinstance(value, Link):
        node = graph.nodes[value.node]
        if node.kind == "config":
            return _made(graph, value, node, annotation)
        if node.kind in ("partial", "arg_factory"):
            return None if issubclass(functools.partial, annotation) else wrong
        if node.kind == "namedtuple" and node.callable is not None:
            live = node.callable.live
            return (
                None
                if not inspect.isclass(live) or _related(live, annotation)
                else wrong
            )
        return wrong if node.kind in ("list", "tuple") or "dict" in node.kind else None
    held, live = value.value, value.live
    if isinstance(live, annotation) or _is_odd(held):
        return None
    if isinstance(held, str) and issubclass(annotation, os.PathLike):
        return None
    if issubclass(annotation, enum.Enum):
        names = list(annotation.__members__)
        meant = suggest.hint(str(live), names) or ""
        listed = tuple(f"{annotation.__name__}.{name}" for name in names)
        # An enum whose members are strings may be compared with a string.
        sure = not issubclass(annotation, str | int)
        return Misfit(wrong.what, sure, listed, meant)
    if isinstance(held, Symbol) and inspect.isclass(live):
        if not issubclass(live, annotation):
            return wrong
        nearest = (f"fdl.Config({held.short})",)
        what = f"is the class {held.short} itself, not one of its objects"
        return Misfit(what, nearest=nearest)
    return wrong


def _made(graph: Graph, value: Link, node: Node, annotation: type) -> Misfit | None:
    """Whether what a node makes is of a class."""
    assert node.callable is not None
    live = node.callable.live
    if inspect.isclass(live):
        made: Any = live
        if "__new__" in {n for base in live.__mro__[:-1] for n in vars(base)}:
            return None  # what it makes is its own business
    else:
        made = _returned(live)
    if not inspect.isclass(made) or _related(made, annotation):
        return None
    if annotation in _NUMBERS and issubclass(made, numbers.Number):
        return None
    package = made.__module__.partition(".")[0]
    if package in _ARRAY_PACKAGES:
        return None
    what = hints.describe(annotation)
    return Misfit(
        f"is made by {node.callable.short}, a {made.__qualname__}, not {what}"
    )


def _returned(function: Any) -> Any:
    """The class that a function says it returns; None if it says none."""
    if signatures.takes_any(function) and not hasattr(function, "__annotations__"):
        return None
    returned = hints.plain(typing.get_type_hints(function).get("return", Any))
    if hints.says_nothing(returned) or typing.get_args(returned):
        return None
    is_plain = inspect.isclass(returned) and returned is not types.NoneType
    return returned if is_plain and not _is_protocol(returned) else None


def _is_protocol(annotation: Any) -> bool:
    return bool(getattr(annotation, "_is_protocol", False))


def _related(one: type, two: type) -> bool:
    return issubclass(one, two) or issubclass(two, one)
