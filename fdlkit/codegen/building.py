"""The style `build`: plain constructor calls, which return what a build returns.

A reference becomes an expression over variables: the argument that it follows gets a
name, `num_train_steps = 1000`, and whoever follows it uses that name.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import fiddle as fdl

from fdlkit.codegen import fresh, naming
from fdlkit.codegen.lowering import Lowering
from fdlkit.codegen.program import Expression, Imported, Item, Program, Text, Use
from fdlkit.codegen.refusals import UnwritableError
from fdlkit.graph import paths
from fdlkit.graph.build import refuse_unbuildable
from fdlkit.graph.faults import Found
from fdlkit.graph.model import Argument, Leaf, Link, Node, Value
from fdlkit.graph.paths import PathKey
from fdlkit.graph.resolve import Resolver

_PARTIAL = Imported("functools", "partial")

# How tightly Python's operators bind.
_BINDING = {"+": 4, "-": 4, "*": 5, "/": 5, "//": 5}

# An argument or element: the number of who holds it, and its key there.
Position = tuple[int, PathKey]


class BuildLowering(Lowering):
    """Writes each node as the call that a build makes for it."""

    style = "build"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._resolver = Resolver(self.graph, self.places)
        # By position, the variable of a value that references follow.
        self._followed: dict[Position, int] = {}
        # What each reference comes to where it stands: by its node and its holder.
        self._references: dict[tuple[int, int], int] = {}
        self._reached = set(self.places.order)
        self._factories: set[int] = set()
        # Of what stands within one argument that is made anew: by region and node.
        self._inside: dict[tuple[int, int], int] = {}

    @property
    def needs_fresh(self) -> bool:
        """Whether the program uses `fresh.SOURCE`."""
        return bool(self._factories)

    def program(self) -> Program:
        """The whole graph as a program.

        Raises:
          UserError: It cannot be built, or some of it cannot be written.
        """
        refuse_unbuildable(self.graph, self.places)
        self._find_followed()
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
        below = self._behind_tags(value)
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
                    if isinstance(below := self._behind_tags(argument.value), Link)
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
        below = self._behind_tags(argument.value)
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
        variable = self._followed.get((number, argument.key))
        if variable is not None:
            return (Use(variable),)
        assert argument.value is not None
        return self._plain(argument.value, number, argument.key)

    def _plain(self, value: Value, holder: int, key: PathKey) -> Text:
        at = holder if holder >= 0 else None
        below = self._behind_tags(value)
        if below is None:
            return ("None",)  # refused before: nothing has filled it
        if isinstance(below, Leaf):
            return self.leaf(below, at, key if at is not None else None)
        node = self.graph.nodes[below.node]
        if node.kind == "reference":
            return (Use(self._reference(below.node, holder)),)
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

    def _reference(self, reference: int, holder: int) -> int:
        """The expression of what a reference comes to, in its place."""
        known = self._references.get((reference, holder))
        if known is not None:
            return known
        todo = [(reference, holder)]
        while todo:  # sides before the whole
            number, around = todo.pop()
            if (number, around) in self._references:
                continue
            node = self.graph.nodes[number]
            sides = [
                (argument.value.node, around)
                for argument in node.arguments
                if isinstance(argument.value, Link)
            ]
            missing = [side for side in sides if side not in self._references]
            if missing:
                todo += [(number, around), *missing]
                continue
            made = self._references[number, around] = self.reserve()
            if node.argument("path") is not None:
                self.put(made, self._destination(number, around))
            else:
                self.put(made, self._computed(number, around))
        return self._references[reference, holder]

    def _destination(self, number: int, holder: int) -> Expression:
        end = self._end(number, holder)
        variable = None
        if end.holder is not None and end.key is not None:
            variable = self._followed.get((end.holder, end.key))
        if variable is not None:
            return Expression((Use(variable),))
        assert end.holder is not None and end.key is not None
        if isinstance(end.value, Link):
            self._lower_default(end.value.node)
        return Expression(self._plain(end.value, end.holder, end.key))

    def _lower_default(self, whole: int) -> None:
        """Puts the expressions of a default, which no set value leads to."""
        todo, found = [whole], set()
        while todo:
            number = todo.pop()
            if number in self._reached or number in found:
                continue
            found.add(number)
            todo += [
                argument.value.node
                for argument in self.graph.nodes[number].arguments
                if isinstance(argument.value, Link)
            ]
        self._reached |= found
        for number in sorted(found):
            self.lower(number)

    def _computed(self, number: int, holder: int) -> Expression:
        node = self.graph.nodes[number]
        given = {argument.key: argument.value for argument in node.arguments}
        symbol = given["operator"]
        assert isinstance(symbol, Leaf)
        operator = str(symbol.value)
        binding = _BINDING[operator]
        sides: list[Text] = []
        for name, needed in (("left", binding), ("right", binding + 1)):
            side = given[name]
            if isinstance(side, Link):
                sides.append((Use(self._references[side.node, holder], needed),))
            else:
                assert isinstance(side, Leaf)
                sides.append(self.leaf(side, number, name))
        return Expression((*sides[0], f" {operator} ", *sides[1]), binding=binding)

    def _end(self, reference: int, holder: int) -> Found:
        """Where a plain reference leads; of several places that agree, the first."""
        return self._resolver.destinations(reference, holder)[0]

    def _behind_tags(self, value: Value | None) -> Value | None:
        """What a TaggedValue is built to: the value that it holds."""
        while isinstance(value, Link):
            node = self.graph.nodes[value.node]
            if node.kind != "tagged_value":
                break
            argument = node.argument("value")
            value = None if argument is None else argument.value
        return value

    def _find_followed(self) -> None:
        """Gives a variable to each value that a reference follows."""
        todo: list[tuple[int, int]] = []
        for number in self.places.order:
            node = self.graph.nodes[number]
            if node.kind == "reference":
                continue
            for argument in node.arguments:
                below = self._behind_tags(argument.value)
                if isinstance(below, Link) and (
                    self.graph.nodes[below.node].kind == "reference"
                ):
                    todo.append((below.node, number))
        seen: set[tuple[int, int]] = set()
        found: dict[Position, None] = {}
        while todo:
            at = todo.pop()
            if at in seen:
                continue
            seen.add(at)
            node = self.graph.nodes[at[0]]
            if node.argument("path") is None:
                todo += [
                    (argument.value.node, at[1])
                    for argument in node.arguments
                    if isinstance(argument.value, Link)
                ]
                continue
            end = self._end(*at)
            below = self._behind_tags(end.value)
            is_plain = isinstance(below, Leaf) or self._is_reference(below)
            if is_plain and self._is_set(end):
                assert end.holder is not None and end.key is not None
                found[end.holder, end.key] = None
            if self._is_reference(below) and end.holder is not None:
                assert isinstance(below, Link)
                todo.append((below.node, end.holder))
        for position in found:
            self._followed[position] = self.reserve()

    def finish(self) -> None:
        """Puts the variables, whose values may use one another."""
        for (holder, key), variable in self._followed.items():
            node = self.graph.nodes[holder]
            argument = node.argument(key)
            assert argument is not None and argument.value is not None
            text = self._plain(argument.value, holder, key)
            name = self._variable_name(holder, key)
            kind = _plain_type(self._behind_tags(argument.value))
            self.put(variable, Expression(text, name=name, type=kind, binding=0))

    def _variable_name(self, holder: int, key: PathKey) -> str:
        for one in reversed((*self.places.path(holder), key)):
            plain = one.value if isinstance(one, paths.Key) else one
            if isinstance(plain, str) and naming.snake(plain):
                is_own = one is key
                return plain if is_own else naming.singular(plain) or plain
        return "value"

    def _is_set(self, end: Found) -> bool:
        if end.holder is None or end.key is None:
            return False
        argument = self.graph.nodes[end.holder].argument(end.key)
        return argument is not None and argument.value is not None

    def _is_reference(self, value: Value | None) -> bool:
        node = self.graph.node(value)
        return node is not None and node.kind == "reference"

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


def _plain_type(value: Value | None) -> Text:
    held = value.value if isinstance(value, Leaf) else None
    kind = type(held)
    return (kind.__name__,) if kind in (bool, int, float, str, bytes, complex) else ()
