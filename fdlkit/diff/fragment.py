"""The values that changes put in, as one graph of their own."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from fdlkit.diff.classes import Side
from fdlkit.diff.model import Old
from fdlkit.graph.model import Argument, Graph, Leaf, Link, Node, Value
from fdlkit.graph.paths import Path
from fdlkit.graph.table import Table


class Fragment:
    """Collects values of a graph; what is kept of the old one is left out of them.

    Attributes:
      kept: What was left out, by the new node; in the graph an empty list of its own
        stands for each.
    """

    def __init__(self, side: Side, kept: Callable[[int], Old | None]):
        self.kept: dict[int, Old] = {}
        self._side = side
        self._find = kept
        self._table = Table()
        self._numbers: dict[int, int] = {}
        self._values: list[Value] = []
        self._holds: list[list[int]] = []

    def add(self, value: Value | Node) -> None:
        """Adds a value of the side's graph, or a node that holds nothing."""
        self._holds.append([])
        if isinstance(value, Node):
            self._values.append(Link(self._table.add(value)))
            return
        if isinstance(value, Link):
            self._add(value.node)
        self._values.append(self._form(value))

    def holds(self, index: int) -> tuple[tuple[Path, Path], ...]:
        """What of the old graph is inside an added value: where now, and where then."""
        return tuple(
            (self._side.places.path(number), self.kept[number].path)
            for number in self._holds[index]
        )

    def graph(self) -> Graph:
        """Everything: first what was left out, then what was added."""
        left_out = [Link(self._numbers[number]) for number in self.kept]
        whole = [
            Argument(n, value) for n, value in enumerate([*left_out, *self._values])
        ]
        root = self._table.add(Node("list", tuple(whole)))
        return Graph(tuple(self._table.nodes), Link(root), defaults_known=False)

    def _add(self, whole: int) -> None:
        todo = [(whole, False)]
        while todo:
            number, is_below_done = todo.pop()
            if number in self._numbers:
                continue
            node = self._side.graph.nodes[number]
            is_own = self._side.node(Link(number)) is not None
            old = self._find(number) if is_own else None
            if old is not None:
                self.kept[number] = old
                self._numbers[number] = self._table.add(Node("list", ()))
                if number != whole:
                    self._holds[-1].append(number)
            elif is_below_done:
                given = tuple(
                    Argument(a.key, a.value and self._form(a.value), tags=a.tags)
                    for a in node.arguments
                    if a.value is not None or a.tags
                )
                self._numbers[number] = self._table.add(
                    dataclasses.replace(node, arguments=given, is_value=False)
                )
            else:
                todo.append((number, True))
                todo += [
                    (a.value.node, False)
                    for a in reversed(node.arguments)
                    if isinstance(a.value, Link)
                ]

    def _form(self, value: Value) -> Value:
        return value if isinstance(value, Leaf) else Link(self._numbers[value.node])
