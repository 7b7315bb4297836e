"""Where the nodes of a graph stand: paths to them, and what is around them."""

from __future__ import annotations

from fdlkit.graph import paths
from fdlkit.graph.model import Graph, Link
from fdlkit.graph.paths import Path, PathKey

_NOWHERE: frozenset[int] = frozenset()


class Places:
    """An index of a graph, made in one pass.

    Attributes:
      graph: The graph.
      holders: For each node, the nodes that hold it and under which key; in the order
        of a reader. Empty for the root and for what only defaults lead to.
      order: The nodes that set values lead to, in the order of a reader.
    """

    def __init__(self, graph: Graph):
        self.graph = graph
        self.holders: list[list[tuple[int, PathKey]]] = [[] for _ in graph.nodes]
        self.order: list[int] = []
        self._enclosing: list[frozenset[int]] | None = None
        self._nearest: dict[str, list[frozenset[int]]] = {}
        self._known: list[set[PathKey]] | None = None
        seen = [False] * len(graph.nodes)
        todo = [graph.root.node] if isinstance(graph.root, Link) else []
        while todo:
            number = todo.pop()
            if seen[number]:
                continue
            seen[number] = True
            self.order.append(number)
            below = []
            for argument in graph.nodes[number].arguments:
                value = argument.value
                if type(value) is Link:
                    self.holders[value.node].append((number, argument.key))
                    below.append(value.node)
            below.reverse()
            todo += below

    def path(self, number: int) -> Path:
        """The first path to a node."""
        keys: list[PathKey] = []
        while self.holders[number]:
            number, key = self.holders[number][0]
            keys.append(key)
        return tuple(reversed(keys))

    def describe(self, number: int) -> str:
        """The first path to a node and what it calls, for a message."""
        node = self.graph.nodes[number]
        what = node.callable.name if node.callable else node.kind
        return f"{paths.brief(self.path(number))} ({what})"

    def own(self, number: int) -> frozenset[int]:
        """The node itself; for a container, the nodes that it is an argument of."""
        if self.graph.nodes[number].is_buildable:
            return frozenset({number})
        return self.enclosing(number)

    def enclosing(self, number: int) -> frozenset[int]:
        """The nearest nodes around one, containers not counted.

        More than one where it is shared, none around the root.
        """
        if self._enclosing is None:
            self._enclosing = self._find_enclosing()
        return self._enclosing[number]

    def nearest(self, number: int, name: str) -> frozenset[int]:
        """The nearest nodes around one that have the parameter `name`.

        More than one where it is shared, none if no node around it has it.
        """
        known = self._nearest.get(name)
        if known is None:
            known = self._nearest[name] = self._find_nearest(name)
        above: set[int] = set()
        for own in self.own(number):
            above |= known[own]
        return frozenset(above)

    def has(self, number: int, name: str) -> bool:
        """Whether a node has the parameter `name`, set or not."""
        if self._known is None:
            self._known = [
                {argument.key for argument in node.arguments}
                if node.is_buildable and node.kind != "reference"
                else set()
                for node in self.graph.nodes
            ]
        return name in self._known[number]

    def _find_enclosing(self) -> list[frozenset[int]]:
        nodes = self.graph.nodes
        found = [_NOWHERE] * len(nodes)
        for number in range(
            len(nodes) - 1, -1, -1
        ):  # holders come after what they hold
            parts = {
                frozenset({holder}) if nodes[holder].is_buildable else found[holder]
                for holder, _ in self.holders[number]
            }
            found[number] = (
                frozenset().union(*parts) if len(parts) > 1 else _only(parts)
            )
        return found

    def _find_nearest(self, name: str) -> list[frozenset[int]]:
        found = [_NOWHERE] * len(self.graph.nodes)
        for number in range(len(found) - 1, -1, -1):
            parts = {
                frozenset({around}) if self.has(around, name) else found[around]
                for around in self.enclosing(number)
            }
            found[number] = (
                frozenset().union(*parts) if len(parts) > 1 else _only(parts)
            )
        return found


def _only(parts: set[frozenset[int]]) -> frozenset[int]:
    return next(iter(parts)) if parts else _NOWHERE
