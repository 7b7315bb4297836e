"""From a config to its neutral form."""

from __future__ import annotations

import collections
import dataclasses
import inspect
from typing import Any

import fiddle as fdl
from fiddle import daglish, tagging

from fdlkit.graph import (
    annotation,
    circles,
    fiddle_internals,
    names,
    origins,
    paths,
    ranks,
    signatures,
    walk,
)
from fdlkit.graph.model import (
    Argument,
    Graph,
    Kind,
    Leaf,
    Link,
    Node,
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

_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclasses.dataclass(frozen=True)
class Taken:
    """A graph with what it was taken of.

    Attributes:
      graph: The neutral form.
      originals: For each node of the graph, the value it was taken of.
    """

    graph: Graph
    originals: tuple[Any, ...]


def snapshot(config: Any) -> Graph:
    """The neutral form of a config, in one linear pass.

    Raises:
      UserError: The config contains itself.
    """
    return take(config).graph


def take(config: Any) -> Taken:
    """The same, with the values that the nodes were taken of."""
    camera = _Camera()
    root = camera.value(config)
    return Taken(Graph(tuple(camera.nodes), root), tuple(camera.originals))


@dataclasses.dataclass(frozen=True)
class _Blank:
    """What a callable's arguments look like before any is set.

    Attributes:
      arguments: By key, in signature order, without variadic ones.
      hidden: Keys that are shown only where they are set.
      variadic_at: Where positional arguments of a `*args` go among them.
    """

    arguments: dict[PathKey, Argument]
    hidden: frozenset[str]
    variadic_at: int


class _Camera:
    def __init__(self) -> None:
        self._table = Table()
        self.originals: list[Any] = []
        self._names = names.Names()
        # By id, with the object itself so that its id stays its own.
        self._done: dict[int, tuple[Any, Value]] = {}
        self._blanks: dict[int, tuple[Any, _Blank]] = {}

    @property
    def nodes(self) -> list[Node]:
        return self._table.nodes

    def value(self, whole: Any) -> Value:
        """The form of one value and of all that is below it."""
        below: dict[int, list[tuple[PathKey, Any]]] = {}  # of what is being walked
        todo: list[tuple[Any, bool]] = [(whole, False)]
        while todo:
            value, is_below_done = todo.pop()
            if is_below_done:
                link = self._node(value, below.pop(id(value)))
                self._done[id(value)] = value, link
            elif id(value) in below:
                raise circles.error(value)
            elif id(value) not in self._done and not self._is_leaf(value):
                children = self._children(value)
                below[id(value)] = children
                todo.append((value, True))
                todo += [(child, False) for _, child in reversed(children)]
        return self._form(whole)

    def _is_leaf(self, value: Any) -> bool:
        return type(value) not in (set, frozenset) and walk.is_leaf(value)

    def _form(self, value: Any) -> Value:
        done = self._done.get(id(value))
        return Leaf(self._names.leaf(value)) if done is None else done[1]

    def _children(self, value: Any) -> list[tuple[PathKey, Any]]:
        if type(value) in (set, frozenset):
            leaf = self._names.leaf
            return list(enumerate(sorted(value, key=lambda e: ranks.rank(e, leaf))))
        return walk.children(value)

    def _node(self, value: Any, children: list[tuple[PathKey, Any]]) -> Value:
        if isinstance(value, fdl.Buildable):
            node = self._buildable(value, children)
        else:
            node = self._container(value, children)
        number = self._table.add(node)
        if len(self.nodes) > len(self.originals):
            self.originals.append(value)
        return Link(number)

    def _container(self, value: Any, children: list[tuple[PathKey, Any]]) -> Node:
        kind = _KINDS.get(type(value), "custom")
        named = own = metadata = None
        if daglish.is_namedtuple_subclass(type(value)):
            kind, named = "namedtuple", self._names.symbol(type(value))
        elif kind == "default_dict":
            if value.default_factory is not None:
                named = self._names.symbol(value.default_factory)
        elif kind == "custom":
            own = self._names.symbol(type(value))
            metadata = Leaf(self._names.leaf(walk.metadata(value)))
        elements = tuple(
            Argument(self._key(key), self._form(child)) for key, child in children
        )
        return Node(kind, elements, named, own, metadata=metadata)

    def _key(self, key: PathKey) -> PathKey:
        if isinstance(key, paths.Key) and not isinstance(key.value, str | tuple):
            return paths.Key(self._names.leaf(key.value))
        return key

    def _buildable(
        self, value: fdl.Buildable, children: list[tuple[PathKey, Any]]
    ) -> Node:
        kind = _KINDS.get(type(value), "buildable")
        own = self._names.symbol(type(value)) if kind == "buildable" else None
        named = self._names.symbol(fdl.get_callable(value))
        if kind == "reference":
            given = tuple(Argument(key, self._form(child)) for key, child in children)
            return Node(kind, given, named, origin=origins.made(value))
        blank = self._blank(value)
        values = dict(children)
        placed = signatures.placed(fdl.get_callable(value), values)
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
        arguments = []
        for key in keys:
            name = placed.names.get(key, key) if type(key) is int else key
            argument = blank.arguments.get(name) or Argument(name, None)
            if not placed.can_be_named and name is not key:
                argument = dataclasses.replace(argument, key=key)
            arguments.append(self._filled(argument, value, values, key))
        return Node(
            kind,
            tuple(arguments),
            named,
            own,
            origin=origins.made(value),
            swapped=origins.swapped(value),
        )

    def _filled(
        self,
        unset: Argument,
        node: fdl.Buildable,
        values: dict[PathKey, Any],
        key: Any,  # the node's own, an argument's, so no `Key`
    ) -> Argument:
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
            origins.origin(node, key) if key in values else None,
        )

    def _blank(self, node: fdl.Buildable) -> _Blank:
        """The arguments of the node's callable, none of them set."""
        called = fdl.get_callable(node)
        known = self._blanks.get(id(called))
        if known is None:
            known = self._blanks[id(called)] = called, self._make_blank(called)
        return known[1]

    def _make_blank(self, called: Any) -> _Blank:
        arguments: dict[PathKey, Argument] = {}
        variadic_at = 0
        for index, parameter in enumerate(signatures.all_parameters(called).values()):
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                variadic_at = index
            if parameter.kind in _VARIADIC:
                continue
            by_place = parameter.kind is inspect.Parameter.POSITIONAL_ONLY
            key = index if by_place else parameter.name
            has_value = parameter.default is not signatures.MISSING
            arguments[key] = Argument(
                key,
                None,
                default=self.value(parameter.default) if has_value else None,
                factory=parameter.factory and self._names.symbol(parameter.factory),
                required=not parameter.has_default,
                annotation=annotation.text(parameter.annotation),
            )
        hidden = set(signatures.hidden(called))
        if fiddle_internals.is_tagged_value_fn(called):
            hidden.add("tags")  # Fiddle passes it by itself
            # Its type is a type variable, which tells a reader nothing.
            blank = dataclasses.replace(arguments["value"], annotation="")
            arguments["value"] = blank
        return _Blank(arguments, frozenset(hidden), variadic_at)
