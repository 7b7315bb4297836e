"""From a config to its neutral form."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import fiddle as fdl
from fiddle import daglish, tagging

from fdlkit.graph import (
    blanks,
    circles,
    fiddle_internals,
    garbage,
    names,
    origins,
    paths,
    ranks,
    signatures,
    walk,
)
from fdlkit.graph.blanks import Blank
from fdlkit.graph.model import (
    BUILDABLE_KINDS,
    Argument,
    Graph,
    Kind,
    Leaf,
    Link,
    Node,
    Symbol,
    Value,
)
from fdlkit.graph.paths import PathKey
from fdlkit.graph.references import Reference
from fdlkit.graph.table import Table

_KINDS: dict[type, Kind] = {
    fdl.Config: "config",
    fdl.Partial: "partial",
    fdl.ArgFactory: "arg_factory",
    tagging.TaggedValueCls: "tagged_value",
    Reference: "reference",
    list: "list",
    tuple: "tuple",
    dict: "dict",
    collections.OrderedDict: "ordered_dict",
    collections.defaultdict: "default_dict",
    set: "set",
    frozenset: "frozenset",
}

_DICTS = frozenset({"dict", "ordered_dict", "default_dict"})


@dataclasses.dataclass(frozen=True)
class Taken:
    """A graph with what it was taken of.

    Attributes:
      graph: The neutral form.
      originals: For each node of the graph, the value it was taken of.
    """

    graph: Graph
    originals: tuple[Any, ...]


def snapshot(config: Any, *, history: bool = True) -> Graph:
    """The neutral form of a config, in one linear pass.

    Args:
      config: The config.
      history: Whether to read who wrote each value. Whoever compares two configs does
        not ask.

    Raises:
      UserError: The config contains itself.
    """
    return take(config, history=history).graph


def take(config: Any, *, history: bool = True) -> Taken:
    """The same, with the values that the nodes were taken of."""
    camera = _Camera(origins.Reader() if history else None)
    with garbage.waiting():
        root = camera.value(config)
    return Taken(Graph(tuple(camera.nodes), root), tuple(camera.originals))


class _Kinds(dict[type, Kind | None]):
    """The kind of node that each type is, None for a leaf; a type is looked at once."""

    def __missing__(self, kind: type) -> Kind | None:
        found = _KINDS.get(kind)
        if found is None and issubclass(kind, fdl.Buildable):
            found = "buildable"
        elif found is None and daglish.is_namedtuple_subclass(kind):
            found = "namedtuple"
        elif found is None and not walk.is_leaf_type(kind):
            found = "custom"
        self[kind] = found
        return found


# What is directly below a value: the value's kind, keys (of arguments in signature
# order), and what stands there.
_Parts = tuple[Kind, Collection[PathKey], Collection[Any]]


class _Camera:
    def __init__(self, reader: origins.Reader | None) -> None:
        self._table = Table()
        self.originals: list[Any] = []
        self._names = names.Names()
        self._origins = reader
        self._kinds = _Kinds()
        # By id. What is in a config lives as long as that; what was made on the way is
        # kept so that its id stays its own.
        self._done: dict[int, Value] = {}
        self._kept: list[Any] = []
        self._called: dict[int, tuple[Any, Symbol, Blank]] = {}

    @property
    def nodes(self) -> list[Node]:
        return self._table.nodes

    def value(self, whole: Any) -> Value:
        """The form of one value and of all that is below it."""
        done, kinds = self._done, self._kinds
        if id(whole) in done or kinds[type(whole)] is None:
            return self._form(whole)
        open_ids = {id(whole)}
        todo = [self._opened(whole)]
        while todo:
            value, parts, children = todo[-1]
            for child in children:
                if kinds[type(child)] is None:
                    continue
                at = id(child)
                if at not in done:
                    if at in open_ids:
                        raise circles.error(child)
                    open_ids.add(at)
                    todo.append(self._opened(child))
                    break
            else:
                todo.pop()
                at = id(value)
                open_ids.discard(at)
                done[at] = self._link(value, parts)
        return done[id(whole)]

    def _opened(self, value: Any) -> tuple[Any, _Parts, Iterator[Any]]:
        """A value that has parts, these, and which of them are still to be walked."""
        parts = self._parts(value)
        return value, parts, iter(parts[2])

    def _form(self, value: Any) -> Value:
        known = self._done.get(id(value))
        if known is None:
            is_plain = type(value) in walk.ATOMS
            known = Leaf(value if is_plain else self._names.leaf(value))
            self._done[id(value)] = known
            self._kept.append(value)
        return known

    def _parts(self, value: Any) -> _Parts:
        kind = self._kinds[type(value)]
        assert kind is not None
        if kind in BUILDABLE_KINDS:
            given = fiddle_internals.ordered_arguments(value)
            return kind, given.keys(), given.values()
        if kind == "list" or kind == "tuple":
            return kind, range(len(value)), value
        if kind == "set" or kind == "frozenset":
            leaf = self._names.leaf
            elements = sorted(value, key=lambda e: ranks.rank(e, leaf))
            return kind, range(len(elements)), elements
        if kind in _DICTS:
            return kind, [paths.of_dict_key(key) for key in value], value.values()
        pairs = walk.children(value)
        self._kept.append(pairs)
        return kind, [key for key, _ in pairs], [child for _, child in pairs]

    def _link(self, value: Any, parts: _Parts) -> Link:
        if parts[0] in BUILDABLE_KINDS:
            node = self._buildable(value, parts)
        else:
            node = self._container(value, parts)
        number = self._table.add(node)
        if number == len(self.originals):
            self.originals.append(value)
        return Link(number)

    def _container(self, value: Any, parts: _Parts) -> Node:
        kind, keys, values = parts
        named = own = metadata = None
        if kind == "namedtuple":
            named = self._names.symbol(type(value))
        elif kind == "default_dict":
            if value.default_factory is not None:
                named = self._names.symbol(value.default_factory)
        elif kind == "custom":
            own = self._names.symbol(type(value))
            metadata = Leaf(self._names.leaf(walk.metadata(value)))
        form = self._form
        elements = [
            Argument(key if type(key) is int else self._key(key), form(child))
            for key, child in zip(keys, values, strict=True)
        ]
        return Node(kind, tuple(elements), named, own, metadata=metadata)

    def _key(self, key: PathKey) -> PathKey:
        if isinstance(key, paths.Key) and not isinstance(key.value, str | tuple):
            return paths.Key(self._names.leaf(key.value))
        return key

    def _buildable(self, value: fdl.Buildable, parts: _Parts) -> Node:
        kind, keys, values = parts
        own = self._names.symbol(type(value)) if kind == "buildable" else None
        made = self._origins.made(value) if self._origins else None
        swapped = self._origins.swapped(value) if self._origins else None
        called = fdl.get_callable(value)
        if kind == "reference":
            given = tuple(map(Argument, keys, map(self._form, values)))
            return Node(kind, given, self._names.symbol(called), origin=made)
        known = self._called.get(id(called))
        if known is None:
            known = called, self._names.symbol(called), self._blank(called)
            self._called[id(called)] = known
        _, named, blank = known
        arguments = self._usual(value, parts, blank)
        if arguments is None:
            arguments = list(self._any(value, parts, blank))
        return Node(kind, tuple(arguments), named, own, origin=made, swapped=swapped)

    def _blank(self, called: Any) -> Blank:
        return blanks.blank(called, self.value, self._names.symbol)

    def _usual(
        self, node: fdl.Buildable, parts: _Parts, blank: Blank
    ) -> list[Argument] | None:
        """The arguments of a node that sets parameters by name and has no tags.

        None for any other node. Nearly all are such, and this is most of the work.
        """
        tags = fiddle_internals.argument_tags(node)
        if tags and any(tags.values()):
            return None
        arguments = list(blank.shown)
        form, at, reader = self._form, blank.at, self._origins
        key: Any  # of an argument, so no `Key`
        for key, child in zip(parts[1], parts[2], strict=True):
            place = at.get(key)
            if place is None:
                return None
            unset = arguments[place]
            arguments[place] = Argument(
                unset.key,
                form(child),
                unset.default,
                unset.factory,
                unset.required,
                (),
                unset.annotation,
                reader.origin(node, key) if reader else None,
            )
        return arguments

    def _any(
        self, node: fdl.Buildable, parts: _Parts, blank: Blank
    ) -> Iterable[Argument]:
        """The arguments of any node: by place, variadic, hidden and tagged ones too."""
        values = dict(zip(parts[1], parts[2], strict=True))
        placed = signatures.placed(fdl.get_callable(node), values)
        key_of = {name: position for position, name in placed.names.items()}
        hidden = blank.hidden - values.keys()
        keys: list[Any] = [
            key_of.get(str(key), key) for key in blank.arguments if key not in hidden
        ]
        known = set(keys)
        variadic = [key for key in values if key not in known]
        positional = [key for key in variadic if isinstance(key, int)]
        keys[blank.variadic_at : blank.variadic_at] = positional
        keys += [key for key in variadic if not isinstance(key, int)]
        for key in keys:
            name = placed.names.get(key, key) if type(key) is int else key
            argument = blank.arguments.get(name) or Argument(name, None)
            if not placed.can_be_named and name is not key:
                argument = dataclasses.replace(argument, key=key)
            yield self._filled(argument, node, values, key)

    def _filled(
        self,
        unset: Argument,
        node: fdl.Buildable,
        values: dict[PathKey, Any],
        key: Any,  # the node's own, an argument's, so no `Key`
    ) -> Argument:
        reader = self._origins
        tags = fiddle_internals.argument_tags(node).get(key, ())
        if key not in values and not tags:
            return unset
        symbols = [self._names.symbol(tag) for tag in tags]
        if len(symbols) > 1:
            symbols.sort(key=lambda tag: tag.name)
        return Argument(
            unset.key,
            self._form(values[key]) if key in values else None,
            unset.default,
            unset.factory,
            unset.required,
            tuple(symbols),
            unset.annotation,
            reader.origin(node, key) if reader and key in values else None,
        )
