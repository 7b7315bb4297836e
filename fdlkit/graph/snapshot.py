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

# A value that is being walked, its parts, what of them is left to look at, and the
# forms of those that were.
_Begun = tuple[Any, _Parts, Iterator[Any], list[Value]]


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
            return done.get(id(whole)) or self._leaf(whole)
        begun = {id(whole)}
        todo = [self._begin(whole)]
        while True:
            value, parts, children, forms = todo[-1]
            # Up to the first child that is to be walked before it has a form.
            for child in children:
                at = id(child)
                form = done.get(at)
                if form is None:
                    if kinds[type(child)] is not None:
                        break
                    form = self._leaf(child)
                forms.append(form)
            else:
                todo.pop()
                link = done[id(value)] = self._link(value, parts, forms)
                if not todo:
                    return link
                todo[-1][3].append(link)
                continue
            if at in begun:
                raise circles.error(child)
            begun.add(at)
            todo.append(self._begin(child))

    def _begin(self, value: Any) -> _Begun:
        parts = self._parts(value)
        return value, parts, iter(parts[2]), []

    def _leaf(self, value: Any) -> Leaf:
        """The form of a value that has nothing below it and was not met before."""
        is_plain = type(value) in walk.ATOMS
        leaf = Leaf(value if is_plain else self._names.leaf(value))
        self._done[id(value)] = leaf
        self._kept.append(value)
        return leaf

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

    def _link(self, value: Any, parts: _Parts, forms: list[Value]) -> Link:
        if parts[0] in BUILDABLE_KINDS:
            node = self._buildable(value, parts, forms)
        else:
            node = self._container(value, parts, forms)
        number = self._table.add(node)
        if number == len(self.originals):
            self.originals.append(value)
        return Link(number)

    def _container(self, value: Any, parts: _Parts, forms: list[Value]) -> Node:
        kind, keys, _ = parts
        named = own = metadata = None
        if kind == "namedtuple":
            named = self._names.symbol(type(value))
        elif kind == "default_dict":
            if value.default_factory is not None:
                named = self._names.symbol(value.default_factory)
        elif kind == "custom":
            own = self._names.symbol(type(value))
            metadata = Leaf(self._names.leaf(walk.metadata(value)))
        elements = [
            Argument(key if type(key) is int else self._key(key), form)
            for key, form in zip(keys, forms, strict=True)
        ]
        return Node(kind, tuple(elements), named, own, False, metadata)

    def _key(self, key: PathKey) -> PathKey:
        if isinstance(key, paths.Key) and not isinstance(key.value, str | tuple):
            return paths.Key(self._names.leaf(key.value))
        return key

    def _buildable(
        self, value: fdl.Buildable, parts: _Parts, forms: list[Value]
    ) -> Node:
        kind, keys, _ = parts
        own = self._names.symbol(type(value)) if kind == "buildable" else None
        made = self._origins.made(value) if self._origins else None
        swapped = self._origins.swapped(value) if self._origins else None
        called = fdl.get_callable(value)
        if kind == "reference":
            given = tuple(map(Argument, keys, forms))
            return Node(kind, given, self._names.symbol(called), origin=made)
        known = self._called.get(id(called))
        if known is None:
            known = called, self._names.symbol(called), self._blank(called)
            self._called[id(called)] = known
        _, named, blank = known
        arguments = self._usual(value, keys, forms, blank)
        if arguments is None:
            arguments = list(self._any(value, keys, forms, blank))
        return Node(kind, tuple(arguments), named, own, origin=made, swapped=swapped)

    def _blank(self, called: Any) -> Blank:
        return blanks.blank(called, self.value, self._names.symbol)

    def _usual(
        self,
        node: fdl.Buildable,
        keys: Collection[PathKey],
        forms: list[Value],
        blank: Blank,
    ) -> list[Argument] | None:
        """The arguments of a node that sets parameters by name and has no tags.

        None for any other node. Nearly all are such, and this is most of the work.
        """
        tags = fiddle_internals.argument_tags(node)
        if tags and any(tags.values()):
            return None
        arguments = list(blank.shown)
        at, reader = blank.at, self._origins
        key: Any  # of an argument, so no `Key`
        for key, form in zip(keys, forms, strict=True):
            place = at.get(key)
            if place is None:
                return None
            unset = arguments[place]
            arguments[place] = Argument(
                key,
                form,
                unset.default,
                unset.factory,
                unset.required,
                (),
                unset.annotation,
                reader.origin(node, key) if reader else None,
            )
        return arguments

    def _any(
        self,
        node: fdl.Buildable,
        given: Collection[PathKey],
        forms: list[Value],
        blank: Blank,
    ) -> Iterable[Argument]:
        """The arguments of any node: by place, variadic, hidden and tagged ones too."""
        values = dict(zip(given, forms, strict=True))
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
        values: dict[PathKey, Value],
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
            values.get(key),
            unset.default,
            unset.factory,
            unset.required,
            tuple(symbols),
            unset.annotation,
            reader.origin(node, key) if reader and key in values else None,
        )
