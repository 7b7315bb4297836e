"""From the neutral form back to a config."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import fiddle as fdl
from fiddle import tagging

from fdlkit.errors import UserError
from fdlkit.graph import (
    arrays,
    fiddle_internals,
    origins,
    paths,
    texts,
    values,
    walk,
)
from fdlkit.graph.model import (
    UNKNOWN,
    Array,
    DType,
    Graph,
    Leaf,
    Link,
    Made,
    Member,
    Node,
    Symbol,
)
from fdlkit.graph.places import Places
from fdlkit.graph.references import Reference

Resolve = Callable[[Symbol | Member | DType], Any]

_CLASSES: dict[str, type[fdl.Buildable]] = {
    "config": fdl.Config,
    "partial": fdl.Partial,
    "arg_factory": fdl.ArgFactory,
    "tagged_value": tagging.TaggedValueCls,
    "reference": Reference,
}


def restore(graph: Graph, resolve: Resolve | None = None, *, source: str = "") -> Any:
    """The config that a graph was taken of: equal to it, sharing what it shared.

    Args:
      graph: The graph.
      resolve: Looks up symbols, enum members and dtypes that were read from text.
        What a snapshot took from a living config needs no looking up.
      source: The file that the graph was read from, if it is to be known as what
        wrote the values.

    Returns:
      A new config. Its history is empty, or says of each value that `source` wrote it.

    Raises:
      UserError: `resolve` refuses a name, or it is needed and missing.
    """
    if isinstance(graph.root, Leaf):
        return _live(graph.root.value, resolve)
    made: dict[int, Any] = {}
    written: list[fdl.Buildable] = []
    for number in sorted(Places(graph).order):  # everything after what is below it
        value = made[number] = _make(graph.nodes[number], made, resolve)
        if source and isinstance(value, fdl.Buildable):
            written.append(value)
    with origins.written_by(source):
        for node in written:
            fiddle_internals.record_all(node)
    return made[graph.root.node]


def _make(node: Node, made: dict[int, Any], resolve: Resolve | None) -> Any:
    given = [argument for argument in node.arguments if argument.value is not None]
    parts = [
        made[a.value.node]
        if isinstance(a.value, Link)
        else _live(a.value.value, resolve)
        for a in given
        if a.value is not None
    ]
    if node.is_buildable:
        kind = _CLASSES.get(node.kind) or _live(node.type, resolve)
        keys: list[Any] = [argument.key for argument in given]
        tags: dict[Any, list[Any]] = {
            argument.key: [_live(tag, resolve) for tag in argument.tags]
            for argument in node.arguments
            if argument.tags
        }
        return fiddle_internals.make_node(
            kind,
            _live(node.callable, resolve),
            dict(zip(keys, parts, strict=True)),
            tags,
        )
    match node.kind:
        case "list":
            return parts
        case "tuple":
            return tuple(parts)
        case "set":
            return set(parts)
        case "frozenset":
            return frozenset(parts)
        case "namedtuple":
            # Its own `__new__` is not called: what it was made to is what it is.
            return tuple.__new__(_live(node.callable, resolve), parts)
        case "custom":
            assert node.metadata is not None
            metadata = _live(node.metadata.value, resolve)
            return walk.assemble(_live(node.type, resolve), parts, metadata)
    keys = [_dict_key(argument.key, resolve) for argument in given]
    if node.kind == "ordered_dict":
        return collections.OrderedDict(zip(keys, parts, strict=True))
    if node.kind == "default_dict":
        factory = None if node.callable is None else _live(node.callable, resolve)
        return collections.defaultdict(factory, zip(keys, parts, strict=True))
    return dict(zip(keys, parts, strict=True))


def _dict_key(key: paths.PathKey, resolve: Resolve | None) -> Any:
    plain = paths.to_dict_key(key)
    return plain if isinstance(plain, tuple) else _live(plain, resolve)


def _live(value: Any, resolve: Resolve | None) -> Any:
    """The value as a program uses it."""
    live = getattr(value, "live", UNKNOWN)
    if live is not UNKNOWN:
        return live
    try:
        if isinstance(value, Made):
            return values.make(value, lambda held: _live(held, resolve))
        if isinstance(value, Array):
            return arrays.make(value)
    except ValueError as error:
        raise UserError(f"{texts.leaf(Leaf(value))}: {error}") from None
    if not isinstance(value, Symbol | Member | DType):
        return value
    if resolve is None:
        raise UserError(f"{value} was read from text, and nothing looks it up")
    return resolve(value)
