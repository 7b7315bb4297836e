"""The style `fiddle`: code that makes an equal config."""

from __future__ import annotations

from typing import Any

import fiddle as fdl
from fiddle.experimental import dict_config

from fdlkit.codegen.lowering import Lowering
from fdlkit.codegen.program import (
    BINDING,
    Expression,
    Imported,
    Item,
    Own,
    Part,
    Program,
    Text,
    Use,
)
from fdlkit.codegen.refusals import UnwritableError
from fdlkit.graph import built, fiddle_internals
from fdlkit.graph.model import Argument, Leaf, Link, Node, Symbol

_CLASSES = {
    "config": Imported("fiddle", "Config"),
    "partial": Imported("fiddle", "Partial"),
    "arg_factory": Imported("fiddle", "ArgFactory"),
}
_REF = Imported("fdlkit", "ref")


class ConfigLowering(Lowering):
    """Writes each node as the `fdl.Config(...)` that it is."""

    style = "fiddle"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._implied: dict[int, tuple[Any, dict[Any, set[Any]]]] = {}

    def program(self) -> Program:
        """The whole graph as a program.

        Raises:
          UserError: Some of it cannot be written; all of that is listed.
        """
        self.refusals.add_built(built.find_built(self.graph, self.places))
        return super().program()

    def lower(self, number: int) -> None:
        """Puts the expression of a node."""
        node = self.graph.nodes[number]
        if node.kind == "reference":
            expression = self._reference(number, node)
        elif node.kind == "tagged_value":
            expression = self._tagged_value(number, node)
        elif node.is_buildable:
            expression = self._buildable(number, node)
        else:
            expression = self.container(number, node, self._value)
        self.put(self.number(number), expression)

    def _value(self, number: int, argument: Argument) -> Text:
        value = argument.value
        if isinstance(value, Link):
            holder, below = self.graph.nodes[number], self.graph.nodes[value.node]
            if below.kind == "tagged_value" and holder.is_buildable:
                error = UnwritableError(
                    "a TaggedValue where Fiddle itself keeps the tag with the argument",
                    "set the argument again: cfg.x = cfg.x",
                )
                self.refusals.add(number, argument.key, error)
            return (Use(self.number(value.node)),)
        assert isinstance(value, Leaf)
        return self.leaf(value, number, argument.key)

    def _reference(self, number: int, node: Node) -> Expression:
        given = {argument.key: argument for argument in node.arguments}
        if "path" in given:
            path = self._value(number, given["path"])
            return Expression((_REF, "(", *path, ")"), called="reference")
        symbol = given["operator"].value
        assert isinstance(symbol, Leaf)
        operator = str(symbol.value)
        binding = BINDING[operator]
        left = _side(self._value(number, given["left"]), binding)
        right = _side(self._value(number, given["right"]), binding + 1)
        opening = (*left, f" {operator} ", *right)
        return Expression(opening, called="reference", binding=binding)

    def _tagged_value(self, number: int, node: Node) -> Expression:
        argument = node.argument("value")
        tags = () if argument is None else argument.tags
        if not tags:
            error = UnwritableError(
                "a TaggedValue without a tag", "put the value itself there"
            )
            self.refusals.add(number, None, error)
        value: Text = ()
        if argument is not None and argument.value is not None:
            value = self._value(number, argument)
        text = self._tagged(number, tags, value)
        return Expression(text, called=tags[0].short if tags else "", is_object=True)

    def _tagged(self, number: int, tags: tuple[Symbol, ...], value: Text) -> Text:
        """`Width.new(value)`, for several tags one within the other."""
        for tag in reversed(tags):
            value = (*self.symbol(tag, number), ".new(", *value, ")")
        return value

    def _buildable(self, number: int, node: Node) -> Expression:
        opening = self._opening(number, node)
        implied = self._implied_tags(node)
        then: list[Text] = []
        told: list[Argument] = []
        extra: dict[int, tuple[Symbol, ...]] = {}
        for argument in node.arguments:
            known = implied.get(argument.key, set())
            more = tuple(t for t in argument.tags if t.live not in known)
            extra[id(argument)] = more
            if argument.value is not None or more:
                told.append(argument)
            own = {tag.live for tag in argument.tags}
            for tag in sorted(known - own, key=lambda t: t.name):
                then.append(self._without(number, argument, tag))
        self._refuse_gaps(number, node)

        def write(holder: int, argument: Argument) -> Text:
            value: Text = ()
            if argument.value is not None:
                value = self._value(holder, argument)
            return self._tagged(holder, extra[id(argument)], value)

        items = self.call_items(number, told, write)
        assert node.callable is not None
        # `fdl.Config(Trainer, ...)`: what is called is the first of the arguments.
        first: list[Item] = []
        if opening[1:]:
            first = [Item((), opening[1:])]
        return Expression(
            (opening[0], "("),
            (*first, *items),
            ")",
            called=node.callable.short,
            type=self._type(opening, node),
            is_object=True,
            is_part=bool(items),
            note=self.node_note(node),
            then=tuple(then),
        )

    def _opening(self, number: int, node: Node) -> Text:
        """The kind of Buildable and what it calls."""
        kind: Part | None = _CLASSES.get(node.kind)
        live = None if node.type is None else node.type.live
        if live is dict_config.DictConfig:
            return (Imported("fiddle.experimental.dict_config", "DictConfig"),)
        called = self.symbol(node.callable, number)
        if kind is not None:
            return (kind, *called)
        if getattr(live, "__init__", None) is not fdl.Buildable.__init__:
            name = "?" if node.type is None else node.type.name
            error = UnwritableError(
                f"a {name}, a Buildable with a constructor of its own",
                "use fdl.Config, fdl.Partial or a subclass with their constructor",
            )
            self.refusals.add(number, None, error)
            return (Imported("fiddle", "Config"), *called)
        made = self.symbol(node.type, number)
        return (made[0] if len(made) == 1 else "None", *called)

    def _type(self, opening: Text, node: Node) -> Text:
        assert node.callable is not None
        if isinstance(node.callable.live, type) and len(opening) > 1:
            returned = self.class_of(node.callable)
            if returned and opening[0] in _CLASSES.values():
                return (opening[0], "[", *returned, "]")
        return (opening[0],)

    def _implied_tags(self, node: Node) -> dict[Any, set[Any]]:
        """The tags that a new node has from annotations alone, by argument."""
        assert node.callable is not None
        live = node.callable.live
        known = self._implied.get(id(live))
        if known is None:
            try:
                tags = fiddle_internals.argument_tags(fdl.Config(live))
                found = {key: set(value) for key, value in tags.items() if value}
            except Exception:  # noqa: BLE001 - a name that cannot be imported now
                found = {}
            known = self._implied[id(live)] = live, found
        return known[1]

    def _without(self, number: int, argument: Argument, tag: Any) -> Text:
        remove = Imported("fiddle", "remove_tag")
        try:
            name = self.leaves.live(tag)
        except UnwritableError as error:
            self.refusals.add(number, argument.key, error)
            name = ("None",)
        return (remove, "(", Own(), f", {argument.key!r}, ", *name, ")")

    def _refuse_gaps(self, number: int, node: Node) -> None:
        """Refuses positional arguments behind one that is not set."""
        given = [a for a in node.arguments if a.value is not None or a.tags]
        placed = [a.key for a in self.by_place(node, given)]
        by_number = [key for key in placed if type(key) is int]
        if by_number and max(by_number) >= len(placed):
            error = UnwritableError(
                "a positional argument behind one that is not set", "set that one too"
            )
            self.refusals.add(number, max(by_number), error)


def _side(text: Text, binding: int) -> Text:
    """A side of an operator: what binds less gets parentheses."""
    return tuple(
        Use(part.number, binding) if isinstance(part, Use) else part for part in text
    )
