"""What all styles do alike on the way from a graph to a program."""

from __future__ import annotations

import collections
import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fiddle import signatures as fiddle_signatures

from fdlkit.codegen import inside, naming
from fdlkit.codegen.leaves import Leaves
from fdlkit.codegen.program import (
    Comments,
    Expression,
    Imported,
    Item,
    Part,
    Program,
    Style,
    Text,
    Use,
)
from fdlkit.codegen.refusals import Refusals, UnwritableError
from fdlkit.graph import names, origins, paths
from fdlkit.graph.model import (
    Argument,
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
from fdlkit.graph.places import Places

# What is written of a node's argument: its value, by the node's number.
WriteValue = Callable[[int, Argument], Text]

_BRACKETS = {
    "list": ("[", "]"),
    "tuple": ("(", ")"),
    "set": ("{", "}"),
    "dict": ("{", "}"),
    "frozenset": ("frozenset({", "})"),
    "ordered_dict": ("({", "})"),
}
_TYPES = {
    "list": "list",
    "tuple": "tuple",
    "set": "set",
    "frozenset": "frozenset",
    "dict": "dict",
}
# Leaves that are objects, so that it matters whether two of them are one.
_OBJECTS = (Array, Made, Opaque)

_MUTABLE = ("list", "set", "dict", "ordered_dict", "default_dict")


class Lowering:
    """Turns the nodes of one graph into expressions; a style says how nodes are built.

    Attributes:
      graph: The graph.
      places: Where its nodes stand.
      leaves: Writes the leaves.
      refusals: What cannot be written.
    """

    style: Style

    def __init__(
        self,
        graph: Graph,
        *,
        comments: Comments = "none",
        carried: Mapping[tuple[str, str], str] | None = None,
        places: Places | None = None,
    ) -> None:
        self.graph = graph
        self.places = places or Places(graph)
        self.leaves = Leaves(carried)
        self.refusals = Refusals(self.places)
        self._comments = comments
        self._expressions: dict[int, Expression] = {}
        self._reserved = 0
        self._numbers: dict[int, int] = {}
        self._objects: dict[int, int] = {}
        self._held_often = _held_often(graph, self.places)
        self._types: dict[int, tuple[Any, Text]] = {}

    def program(self) -> Program:
        """The whole graph as a program.

        Raises:
          UserError: Some of it cannot be written; all of that is listed.
        """
        root = self.graph.root
        if isinstance(root, Leaf):
            number = self.reserve()
            text = self.leaf(root, None, None)
            self.put(number, Expression(text))
        else:
            for one in sorted(self.places.order):
                self.lower(one)
            number = self.root_number(root)
        self.finish()
        self.refusals.raise_if_any(self.style)
        return Program(
            tuple(self._expressions[n] for n in range(self._reserved)),
            number,
            self.leaves.definitions,
        )

    def root_number(self, root: Link) -> int:
        """The expression that the program returns."""
        return self.number(root.node)

    def lower(self, number: int) -> None:
        """Puts the expression of a node; what is below it has been lowered."""
        raise NotImplementedError

    def finish(self) -> None:
        """Puts the expressions that have been reserved only."""

    def reserve(self) -> int:
        """The number of an expression that is put later."""
        self._reserved += 1
        return self._reserved - 1

    def put(self, number: int, expression: Expression) -> None:
        """Settles what an expression is."""
        self._expressions[number] = expression

    def number(self, node: int) -> int:
        """The number of a node's expression."""
        if node not in self._numbers:
            self._numbers[node] = self.reserve()
        return self._numbers[node]

    def leaf(self, leaf: Leaf, node: int | None, key: paths.PathKey | None) -> Text:
        """A leaf where it stands; what cannot be written is noted."""
        try:
            held = leaf.value
            if isinstance(held, Made):
                self._refuse_held_twice(held.live)
            if isinstance(held, _OBJECTS) and id(held.live) in self._held_often:
                return (Use(self._object(held)),)
            return self.leaves.leaf(leaf)
        except UnwritableError as error:
            self.refusals.add(node, key, error)
            return ("None",)

    def _refuse_held_twice(self, value: Any) -> None:
        if (twice := inside.held_twice(value)) is not None:
            raise UnwritableError(
                f"a {type(value).__name__} that holds one and the same "
                f"{type(twice).__name__} twice",
                "make it in a function, and configure that: fdl.Config(make_it)",
            )

    def symbol(self, symbol: Symbol | None, node: int) -> Text:
        """What a node calls."""
        assert symbol is not None
        try:
            return self.leaves.symbol(symbol)
        except UnwritableError as error:
            self.refusals.add(node, None, error)
            return ("None",)

    def container(self, number: int, node: Node, write: WriteValue) -> Expression:
        """The expression of a list, a dict and their like."""
        items = tuple(
            Item(
                self._before(number, node, argument),
                write(number, argument),
                role_of(argument.key),
                self.note(argument, node),
            )
            for argument in node.arguments
        )
        opening, closing = self._brackets(number, node)
        return Expression(
            opening,
            items,
            closing,
            called="" if node.callable is None else node.callable.short,
            type=self.container_type(node),
            is_object=node.kind in _MUTABLE or not node.is_value,
        )

    def container_type(self, node: Node) -> Text:
        """The class of a container; empty if it says nothing."""
        plain = _TYPES.get(node.kind)
        return () if plain is None else (plain,)

    def call_items(
        self, number: int, arguments: Sequence[Argument], write: WriteValue
    ) -> list[Item]:
        """The arguments of a node as those of a call, by place first, then by name.

        Args:
          number: The node.
          arguments: Those that are passed.
          write: Writes the value of one.
        """
        node = self.graph.nodes[number]
        by_place = self.by_place(node, arguments)
        placed = {id(argument) for argument in by_place}
        items = [
            Item((), write(number, a), role_of(a.key), self.note(a, node))
            for a in by_place
        ]
        unusual: list[Part] = []  # keys that can be written in a dict only
        for argument in arguments:
            if id(argument) in placed:
                continue
            key = str(argument.key)
            value, note = write(number, argument), self.note(argument, node)
            if not naming.is_name(key):
                unusual += [f"{', ' if unusual else ''}{key!r}: ", *value]
                continue
            if unusual:
                items.append(Item(("**{",), (*unusual, "}")))
                unusual = []
            items.append(Item((f"{key}=",), value, key, note))
        if unusual:
            items.append(Item(("**{",), (*unusual, "}")))
        return items

    def by_place(self, node: Node, arguments: Sequence[Argument]) -> list[Argument]:
        """The arguments that are passed by position, in order.

        They are those without a name, and those before a `*args` that is given.
        """
        given = {argument.key: argument for argument in arguments}
        last = max((key for key in given if type(key) is int), default=None)
        if last is None or node.callable is None:
            return []
        seen = list(
            fiddle_signatures.get_signature(node.callable.live).parameters.values()
        )
        starts = [i for i, p in enumerate(seen) if p.kind is p.VAR_POSITIONAL]
        start = starts[0] if starts else len(seen)
        found = []
        for index, parameter in enumerate(seen[:start]):
            if parameter.kind is parameter.POSITIONAL_ONLY and index in given:
                found.append(given[index])
            elif (
                start in given
                and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
                and parameter.name in given
            ):
                found.append(given[parameter.name])
        return found + [given[i] for i in range(start, last + 1) if i in given]

    def note(self, argument: Argument, node: Node) -> str:
        """The comment for an argument: who wrote it, if not whoever made the node."""
        if self._comments == "none" or argument.origin is None:
            return ""
        told = origins.show(argument.origin)
        return "" if told == self.node_note(node) else told

    def node_note(self, node: Node) -> str:
        """The comment for a node: where it was made."""
        if self._comments == "none" or node.origin is None:
            return ""
        return origins.show(node.origin)

    def class_of(self, symbol: Symbol | None) -> Text:
        """What a callable returns, as an annotation; empty if that is not known."""
        if symbol is None:
            return ()
        known = self._types.get(id(symbol.live))
        if known is None:
            known = self._types[id(symbol.live)] = symbol.live, self._class_of(symbol)
        return known[1]

    def _class_of(self, symbol: Symbol) -> Text:
        live = symbol.live
        if not inspect.isclass(live):
            try:
                live = typing.get_type_hints(live).get("return")
            except Exception:  # noqa: BLE001 - an annotation may be any expression
                return ()
        found = names.find(live) if inspect.isclass(live) else None
        if found is None or found.module in ("__main__", "types"):
            return ()
        try:
            return self.leaves.symbol(found)
        except UnwritableError:
            return ()

    def _object(self, held: Array | Made | Opaque) -> int:
        """The expression of a leaf that stands in several places and is one object."""
        known = self._objects.get(id(held.live))
        if known is None:
            text = self.leaves.live(held.live)
            known = self._objects[id(held.live)] = self.reserve()
            called = type(held.live).__name__
            self.put(known, Expression(text, called=called, is_object=True, binding=0))
        return known

    def _before(self, number: int, node: Node, argument: Argument) -> Text:
        if "dict" in node.kind:
            try:
                return (*self.leaves.key(argument.key), ": ")
            except UnwritableError as error:
                self.refusals.add(number, argument.key, error)
        elif node.kind == "namedtuple":
            return (f"{argument.key}=",)
        return ()

    def _brackets(self, number: int, node: Node) -> tuple[Text, str]:
        if node.kind in ("set", "frozenset") and not node.arguments:
            return (f"{node.kind}(",), ")"
        if node.kind == "namedtuple":
            return (*self.symbol(node.callable, number), "("), ")"
        if node.kind == "default_dict":
            made: Text = ("None",)
            if node.callable is not None:
                made = self.symbol(node.callable, number)
            return (Imported("collections", "defaultdict"), "(", *made, ", {"), "})"
        if node.kind == "custom":
            kind = "a container" if node.type is None else node.type.name
            error = UnwritableError(
                f"{kind}, a container of a type of its own",
                "make it with a function, and configure that: fdl.Config(make_it, ...)",
            )
            self.refusals.add(number, None, error)
            return ("[",), "]"
        opening, closing = _BRACKETS[node.kind]
        if node.kind == "ordered_dict":
            return (Imported("collections", "OrderedDict"), opening), closing
        return (opening,), closing


def role_of(key: paths.PathKey) -> str:
    """What a holder calls the value at a key; empty if it only counts."""
    if isinstance(key, str):
        return key
    if isinstance(key, paths.Key) and isinstance(key.value, str):
        return key.value
    return ""


def _held_often(graph: Graph, places: Places) -> frozenset[int]:
    """The ids of objects that several arguments hold as leaves."""
    counts: collections.Counter[int] = collections.Counter()
    for number in places.order:
        for argument in graph.nodes[number].arguments:
            value: Value | None = argument.value
            if type(value) is Leaf and isinstance(value.value, _OBJECTS):
                counts[id(value.value.live)] += 1
    return frozenset(one for one, count in counts.items() if count > 1)
