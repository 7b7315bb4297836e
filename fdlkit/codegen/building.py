"""The style `build`: plain constructor calls, which return what a build returns.

A reference becomes an expression over variables: the argument that it follows gets a
name, `num_train_steps = 1000`, and whoever follows it uses that name.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import fiddle as fdl

from fdlkit.codegen import fresh, naming
from fdlkit.codegen.following import FollowingLowering
from fdlkit.codegen.program import Expression, Imported, Item, Program, Text, Use
from fdlkit.codegen.refusals import UnwritableError
from fdlkit.graph.build import refuse_unbuildable
from fdlkit.graph.model import Argument, Leaf, Link, Node, Value
from fdlkit.graph.paths import PathKey

_PARTIAL = Imported("functools", "partial")


class BuildLowering(FollowingLowering):
    """Writes each node as the call that a build makes for it."""

    style = "build"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._factories: set[int] = set()
        # Of what stands within one argument that is made anew: by region and node.
        self._inside: dict[tuple[int, int], int] = {}

    @property
    def needs_fresh(self) -> bool:
        """Whether the program uses `fresh.SOURCES`."""
        return bool(self._factories)

    def program(self) -> Program:
        """The whole graph as a program.

        Raises:
          UserError: It cannot be built, or some of it cannot be written.
        """
        refuse_unbuildable(self.graph, self.places)
        self.find_followed()
        self._find_factories()
        return super().program()

    def root_number(self, root: Link) -> int:
        """The expression that the program returns."""
        whole = self._value(-1, Argument("", root))
        if len(whole) == 1 and isinstance(whole[0], Use):
            return whole[0].number
        number = self.reserve()
        self.put(number, Expression(whole))
        return number

    def lower(self, number: int) -> None:
        """Puts the expression of a node."""
        node = self.graph.nodes[number]
        if node.kind in ("reference", "tagged_value"):
            return  # are put where they stand
        if number in self._factories and not node.is_buildable:
            return
        if node.kind == "arg_factory":
            if all(argument.value is None for argument in node.arguments):
                return  # is the function itself
            expression = self._factory(number, node)
        elif node.kind == "partial" or _is_kind_of(node, fdl.Partial):
            expression = self._bound(number, node)
        elif node.is_buildable:
            expression = self._call(number, node)
        else:
            expression = self.container(number, node, self._value)
        self.put(self.number(number), expression)

    def _call(self, number: int, node: Node) -> Expression:
        live = None if node.type is None else node.type.live
        if live is not None and live.__build__ is not fdl.Config.__build__:
            error = UnwritableError(
                f"a {live.__qualname__}, a Buildable that builds in a way of its own",
                "use fdl.Config or fdl.Partial",
            )
            self.refusals.add(number, None, error)
        assert node.callable is not None
        given = [a for a in node.arguments if a.value is not None]
        items = self.call_items(number, given, self._value)
        called, short = self._callee(number, node), node.callable.short
        if node.callable.name.endswith("dict_config._kwargs_to_dict"):
            called, short = ("dict",), "dict"
        return Expression(
            (*called, "("),
            tuple(items),
            ")",
            called=short,
            type=self.class_of(node.callable),
            is_object=True,
            is_part=bool(items),
            note=self.node_note(node),
        )

    def _callee(self, number: int, node: Node) -> Text:
        """What a node calls, so that brackets can follow."""
        called = self.symbol(node.callable, number)
        is_name = node.callable is None or node.callable.importable
        return called if is_name else ("(", *called, ")")

    def _bound(self, number: int, node: Node) -> Expression:
        """A `functools.partial`, as which a `Partial` is built."""
        assert node.callable is not None
        return Expression(
            *self._partial(number, node),
            ")",
            called=node.callable.short,
            type=(_PARTIAL,),
            is_object=True,
            is_part=True,
            note=self.node_note(node),
        )

    def _partial(self, number: int, node: Node) -> tuple[Text, tuple[Item, ...]]:
        called = Item((), self.symbol(node.callable, number))
        given = [a for a in node.arguments if a.value is not None]
        made = [a for a in given if self._is_factory(a.value)]
        if not made:
            items = self.call_items(number, given, self._value)
            return (_PARTIAL, "("), (called, *items)
        # Fiddle passes what it makes before other keywords, which `**kwargs` can tell.
        given = [*made, *(a for a in given if not self._is_factory(a.value))]
        items = self.call_items(number, given, self._maybe_fresh)
        return (fresh.PARTIAL, "("), (called, *items)

    def _maybe_fresh(self, number: int, argument: Argument) -> Text:
        value = argument.value
        if not self._is_factory(value):
            return self._value(number, argument)
        assert isinstance(value, Link)
        below = self.behind_tags(value)
        assert isinstance(below, Link)
        node = self.graph.nodes[below.node]
        if node.kind == "arg_factory":
            return (fresh.FRESH, "(", *self._maker(below.node), ")")
        key = argument.key if isinstance(argument.key, str) else "value"
        return (fresh.FRESH, "(", Use(self._making(below.node, key)), ")")

    def _maker(self, number: int) -> Text:
        """A function without arguments, as which an `ArgFactory` is built."""
        node = self.graph.nodes[number]
        if all(argument.value is None for argument in node.arguments):
            return self.symbol(node.callable, number)
        return (Use(self.number(number)),)

    def _factory(self, number: int, node: Node) -> Expression:
        """The function of an `ArgFactory` that has arguments."""
        assert node.callable is not None
        called = f"make_{naming.snake(node.callable.short)}"
        opening, items = self._partial(number, node)
        return Expression(opening, items, ")", called=called, is_object=True)

    def _making(self, whole: int, key: str) -> int:
        """A function that makes a container with factories in it."""
        region = self.reserve()
        inside, todo = set(), [whole]
        while todo:
            number = todo.pop()
            if number not in inside and not self._is_maker(number):
                inside.add(number)
                todo += [
                    below.node
                    for argument in self.graph.nodes[number].arguments
                    if isinstance(below := self.behind_tags(argument.value), Link)
                    and below.node in self._factories
                ]
        for number in sorted(inside):  # each after what is below it
            node = self.graph.nodes[number]
            expression = self.container(
                number, node, lambda n, a: self._element(region, n, a)
            )
            self._put_inside(region, number, expression)
        body = self._inside[region, whole]
        name = f"make_{naming.snake(key) or 'value'}"
        self.put(region, Expression((Use(body),), name=name, is_function=True))
        return region

    def _element(self, region: int, number: int, argument: Argument) -> Text:
        below = self.behind_tags(argument.value)
        if not isinstance(below, Link) or below.node not in self._factories:
            return self._value(number, argument)
        if self._is_maker(below.node) and (region, below.node) not in self._inside:
            node = self.graph.nodes[below.node]
            called = "" if node.callable is None else node.callable.short
            text = ("(", *self._maker(below.node), ")()")
            if node.callable is None or node.callable.importable:
                text = (*self._maker(below.node), "()")
            made = Expression(text, called=called, is_object=True)
            self._put_inside(region, below.node, made)
        return (Use(self._inside[region, below.node]),)

    def _put_inside(self, region: int, node: int, expression: Expression) -> None:
        number = self._inside[region, node] = self.reserve()
        self.put(number, dataclasses.replace(expression, region=region))

    def _value(self, number: int, argument: Argument) -> Text:
        """The value of an argument: a leaf, a variable, or the use of a node."""
        variable = self.followed.get((number, argument.key))
        if variable is not None:
            return (Use(variable),)
        assert argument.value is not None
        return self.plain(argument.value, number, argument.key)

    def plain(self, value: Value, holder: int, key: PathKey) -> Text:
        """The text of a value in its place, which no variable stands for."""
        at = holder if holder >= 0 else None
        below = self.behind_tags(value)
        if below is None:
            return ("None",)  # refused before: nothing has filled it
        if isinstance(below, Leaf):
            return self.leaf(below, at, key if at is not None else None)
        node = self.graph.nodes[below.node]
        if node.kind == "reference":
            return (Use(self.reference(below.node, holder)),)
        if below.node in self._factories and (
            node.kind == "arg_factory" or not node.is_buildable
        ):
            error = UnwritableError(
                "an ArgFactory, which only a Partial knows what to do with",
                "use fdl.Config, or put it in an argument of a fdl.Partial",
            )
            self.refusals.add(at, key if at is not None else None, error)
            return ("None",)
        return (Use(self.number(below.node)),)

    def _find_factories(self) -> None:
        """Finds the ArgFactories, and the containers that hold some."""
        for number in sorted(self.places.order):  # each after what is below it
            node = self.graph.nodes[number]
            if node.kind == "arg_factory":
                self._factories.add(number)
                continue
            is_passed_on = node.kind == "tagged_value" or not node.is_buildable
            if is_passed_on and any(self._is_factory(a.value) for a in node.arguments):
                self._factories.add(number)

    def _is_factory(self, value: Value | None) -> bool:
        return isinstance(value, Link) and value.node in self._factories

    def _is_maker(self, number: int) -> bool:
        return self.graph.nodes[number].kind == "arg_factory"


def _is_kind_of(node: Node, kind: type) -> bool:
    live = None if node.type is None else node.type.live
    return isinstance(live, type) and issubclass(live, kind)
