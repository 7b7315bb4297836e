"""A graph that grows from a text, a checked node at a time."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from fdlkit.graph import fiddle_internals, paths, references
from fdlkit.graph.model import Argument, Graph, Leaf, Link, Node, Symbol, Value
from fdlkit.graph.paths import PathKey
from fdlkit.graph.table import Table
from fdlkit.serialize.faults import FormatError
from fdlkit.serialize.hashing import Hashes

_OPERATORS: frozenset[object] = frozenset(references.OPERATORS)


class Growing:
    """The nodes of a graph that is being read, each added after what is below it.

    Attributes:
      key: The argument or element that is being looked at, for messages.
    """

    def __init__(self) -> None:
        self.key: PathKey | None = None
        self._table = Table()
        self._hashes = Hashes()

    def add(self, node: Node) -> Link:
        """Adds a node, unless it is a value that is there already."""
        number = self._table.add(node)
        if self._table.nodes[number].is_value:  # nothing else is ever hashed
            self._hashes.add(number, node)
        return Link(number)

    def node(self, value: Value) -> Node | None:
        """The node that a value links to."""
        return self._table.nodes[value.node] if isinstance(value, Link) else None

    def graph(self, root: Value) -> Graph:
        """The whole graph."""
        return Graph(tuple(self._table.nodes), root, defaults_known=False)

    def check_elements(self, elements: Collection[Argument], at: str) -> None:
        """What is in a set is hashed as soon as there is a set.

        Raises:
          FormatError: It has no hash, or one that takes for ever.
        """
        for element in elements:
            self.key = element.key
            if not isinstance(element.value, Link):
                continue
            inner = self._table.nodes[element.value.node]
            if not inner.is_value or inner.kind == "reference":
                raise FormatError(f"{at} is a set that holds what can change")
            if not self._hashes.is_cheap(element.value.node):
                raise FormatError(f"{at} is a set that holds too much to be hashed")


def own_callable(kind: str, keys: Collection[Any]) -> Symbol | None:
    """What a reference or tagged value calls, which no text has to say.

    Args:
      kind: The kind of the node.
      keys: The keys of its arguments.
    """
    called: Any
    if kind == "reference":
        called = references.reference if "path" in keys else references.arithmetic
    elif kind == "tagged_value":
        called = fiddle_internals.TAGGED_VALUE_FN
    else:
        return None
    return Symbol(called.__module__, called.__qualname__, live=called)


def check_reference(arguments: Collection[Argument], at: str) -> None:
    """A reference is a path, or an operator with two sides.

    Raises:
      FormatError: It is not.
    """
    given = {argument.key: argument.value for argument in arguments}
    written = given.get("path", given.get("operator"))
    text = written.value if isinstance(written, Leaf) else None
    if isinstance(text, str) and set(given) == {"path"}:
        try:
            references.Target.parse(text)
        except paths.PathError as error:
            raise FormatError(f"{at}: {error.lines[0]}") from None
        return
    if set(given) != {"operator", "left", "right"} or text not in _OPERATORS:
        raise FormatError(f"{at} is no reference")
