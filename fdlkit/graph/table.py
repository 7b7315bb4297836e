"""Collecting the nodes of a graph, equal values once."""

from __future__ import annotations

import dataclasses

from fdlkit.graph.model import Link, Node

_IMMUTABLE = frozenset({"tuple", "namedtuple", "frozenset", "reference"})


class Table:
    """The nodes of a graph that is being made, each added after what is below it.

    Python may or may not make one object of two equal constants, so that the identity
    of an immutable value says nothing: here two equal ones are always one node.

    Attributes:
      nodes: The nodes so far.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._values: dict[tuple[object, ...], int] = {}
        self._holds_reference: set[int] = set()

    def add(self, node: Node) -> int:
        """Adds a node, unless it is a value that is there already.

        Returns:
          Its number. It is new if `nodes` has grown.
        """
        number = len(self.nodes)
        if node.kind not in _IMMUTABLE:
            self.nodes.append(node)
            return number
        links = [a.value.node for a in node.arguments if isinstance(a.value, Link)]
        holds_reference = any(
            self.nodes[n].kind == "reference" or n in self._holds_reference
            for n in links
        )
        # A reference means what its place makes it mean, so that two equal tuples with
        # references in them are not interchangeable. References themselves are.
        if all(self.nodes[n].is_value for n in links) and (
            node.kind == "reference" or not holds_reference
        ):
            elements = tuple((a.key, a.value) for a in node.arguments)
            key = (node.kind, node.callable, elements)
            known = self._values.setdefault(key, number)
            if known < number:
                return known
            node = dataclasses.replace(node, is_value=True)
        if holds_reference:
            self._holds_reference.add(number)
        self.nodes.append(node)
        return number
