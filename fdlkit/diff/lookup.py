"""Finding the nodes of a graph by their paths, many of them."""

from __future__ import annotations

from typing import Any

from fdlkit.diff.classes import exact_key
from fdlkit.graph.model import Argument, Graph, Link, Value
from fdlkit.graph.paths import Path, PathKey

# Arguments that are looked through faster than an index of them is made.
_FEW = 16


class Lookup:
    """Finds nodes; large ones are looked through once."""

    def __init__(self, graph: Graph):
        self._graph = graph
        self._indexes: dict[int, dict[Any, Argument]] = {}

    def node(self, path: Path) -> int | None:
        """The number of the node at a path; None if there is none."""
        value: Value | None = self._graph.root
        for key in path:
            argument = self.argument(value, key)
            value = None if argument is None else argument.value
        return value.node if isinstance(value, Link) else None

    def argument(self, value: Value | None, key: PathKey) -> Argument | None:
        """An argument of the node that a value links to."""
        if not isinstance(value, Link):
            return None
        node = self._graph.nodes[value.node]
        if len(node.arguments) <= _FEW or type(key) is int:
            return node.argument(key)
        index = self._indexes.get(value.node)
        if index is None:
            index = {exact_key(a.key): a for a in node.arguments}
            self._indexes[value.node] = index
        return index.get(exact_key(key))
