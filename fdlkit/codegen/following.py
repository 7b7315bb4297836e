"""References as expressions: whoever follows an argument uses its name."""

from __future__ import annotations

from typing import Any

from fdlkit.codegen import naming
from fdlkit.codegen.lowering import Lowering
from fdlkit.codegen.program import BINDING, Expression, Text, Use
from fdlkit.graph import paths
from fdlkit.graph.faults import Found
from fdlkit.graph.model import Leaf, Link, Value
from fdlkit.graph.paths import PathKey
from fdlkit.graph.resolve import Resolver

# An argument or element: the number of who holds it, and its key there.
Position = tuple[int, PathKey]


class FollowingLowering(Lowering):
    """What styles do that put expressions in the place of references.

    An argument that others follow becomes a variable, `num_train_steps = 1000`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._resolver = Resolver(self.graph, self.places)
        # By position, the variable of a value that references follow.
        self.followed: dict[Position, int] = {}
        # What each reference comes to where it stands: by its node and its holder.
        self._references: dict[tuple[int, int], int] = {}
        self._reached = set(self.places.order)

    def plain(self, value: Value, holder: int, key: PathKey) -> Text:
        """The text of a value in its place, which no variable stands for."""
        raise NotImplementedError

    def reference(self, reference: int, holder: int) -> int:
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
            variable = self.followed.get((end.holder, end.key))
        if variable is not None:
            return Expression((Use(variable),))
        assert end.holder is not None and end.key is not None
        if isinstance(end.value, Link):
            self._lower_default(end.value.node)
        return Expression(self.plain(end.value, end.holder, end.key))

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
        binding = BINDING[operator]
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

    def behind_tags(self, value: Value | None) -> Value | None:
        """What a TaggedValue is built to: the value that it holds."""
        while isinstance(value, Link):
            node = self.graph.nodes[value.node]
            if node.kind != "tagged_value":
                break
            argument = node.argument("value")
            value = None if argument is None else argument.value
        return value

    def find_followed(self) -> None:
        """Gives a variable to each value that a reference follows."""
        todo: list[tuple[int, int]] = []
        for number in self.places.order:
            node = self.graph.nodes[number]
            if node.kind == "reference":
                continue
            for argument in node.arguments:
                below = self.behind_tags(argument.value)
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
            below = self.behind_tags(end.value)
            is_plain = isinstance(below, Leaf) or self._is_reference(below)
            if is_plain and self._is_set(end):
                assert end.holder is not None and end.key is not None
                found[end.holder, end.key] = None
            if self._is_reference(below) and end.holder is not None:
                assert isinstance(below, Link)
                todo.append((below.node, end.holder))
        for position in found:
            self.followed[position] = self.reserve()

    def finish(self) -> None:
        """Puts the variables, whose values may use one another."""
        for (holder, key), variable in self.followed.items():
            node = self.graph.nodes[holder]
            argument = node.argument(key)
            assert argument is not None and argument.value is not None
            text = self.plain(argument.value, holder, key)
            name = self._variable_name(holder, key)
            kind = _plain_type(self.behind_tags(argument.value))
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


def _plain_type(value: Value | None) -> Text:
    held = value.value if isinstance(value, Leaf) else None
    kind = type(held)
    return (kind.__name__,) if kind in (bool, int, float, str, bytes, complex) else ()
