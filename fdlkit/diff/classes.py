"""Which values of two graphs are the same: equal ones get one number.

Sharing does not count here, and an argument that is set to its default counts as not
set. One loop over a graph, from the leaves up; a node costs what its arguments cost,
whatever is below it.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Any

from fdlkit.graph.equality import is_made_by, same_leaf
from fdlkit.graph.model import (
    BUILDABLE_KINDS,
    UNKNOWN,
    Argument,
    Graph,
    Leaf,
    Link,
    Node,
    Opaque,
    Symbol,
    Value,
)
from fdlkit.graph.paths import Key, PathKey
from fdlkit.graph.places import Places

# Sizes are counted as if nothing were shared, so that a diamond's must end somewhere.
MOST = 10**9

_SEQUENCES = frozenset({"list", "tuple", "set", "frozenset"})

# Kinds of nodes that are told arguments, which have defaults.
_TOLD = BUILDABLE_KINDS - {"reference"}

# Leaves of these types are equal when they are of one type and equal.
_PLAIN = frozenset({int, str, bool, type(None), bytes})


class Classes:
    """Numbers for the values of several graphs: the same number, the same value.

    A class of a node has a larger number than those of what is below it.

    Attributes:
      sizes: For each class, how many values there are in it, itself included.
      entries: For each class of nodes, its head and the keys and classes below it;
        None for leaves.
    """

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.entries: list[tuple[int, Collection[Any]] | None] = []
        self._numbers: dict[Hashable, int] = {}
        self._heads: dict[Hashable, int] = {}
        self._opaque: dict[Hashable, list[tuple[Leaf, int]]] = {}

    def head(self, node: Node) -> int:
        """A number for what kind of node it is and what it calls."""
        meta = None if node.metadata is None else self.leaf(node.metadata)
        key = node.kind, symbol_key(node.callable), symbol_key(node.type), meta
        return self._heads.setdefault(key, len(self._heads))

    def leaf(self, leaf: Leaf) -> int:
        """The class of a leaf."""
        held = leaf.value
        if type(held) in _PLAIN:
            return self._intern((type(held), held), 1, None)
        if isinstance(held, Opaque):
            return self._opaque_class(leaf, held)
        if isinstance(held, Symbol):
            return self._intern(("symbol", symbol_key(held)), 1, None)
        return self._intern(leaf.key(), 1, None)

    def node(self, head: int, entries: Any, below: int) -> int:
        """The class of a node."""
        key = head, entries
        return self._intern(key, 1 + below if below < MOST else MOST, key)

    def _intern(self, key: Hashable, size: int, entries: Any) -> int:
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self.sizes)
            self.sizes.append(size)
            self.entries.append(entries)
        return found

    def _opaque_class(self, leaf: Leaf, held: Opaque) -> int:
        """Values without a form are compared by `==`, with likely ones only."""
        for bucket in (("id", id(held.live)), _bucket(held)):
            for known, number in self._opaque.get(bucket, ()):
                if same_leaf(known, leaf):
                    return number
        number = len(self.sizes)
        self.sizes.append(1)
        self.entries.append(None)
        for bucket in (("id", id(held.live)), _bucket(held)):
            self._opaque.setdefault(bucket, []).append((leaf, number))
        return number


class Side:
    """One of the two graphs, with its places and the classes of its values.

    A graph that was read from text knows no defaults; it learns them from the other
    side, if that is its teacher.

    Attributes:
      graph: The graph.
      places: Where its nodes stand.
      heads: For each node, the number of its kind and callable.
      of_node: For each node, its class.
      alone: For each node, whether it and each node below it stand in one place only.
        Values and references are no such nodes: wherever they stand, it is so of them.
      counts: How many of the nodes that can be reached are of a class.
      first: The first of these, by class.
    """

    def __init__(self, graph: Graph, classes: Classes, teacher: Side | None = None):
        self.graph = graph
        self.places = Places(graph)
        self.heads: list[int] = []
        self.of_node: list[int] = []
        self.alone: list[bool] = []
        self._classes = classes
        self._teacher = teacher
        self._is_plain: list[bool] = []
        self._signatures: dict[Hashable, dict[PathKey, Argument]] | None = None
        self._of_default: dict[int, int] = {}
        self._of_symbols: dict[tuple[str, int, int], int] = {}
        for number, node in enumerate(graph.nodes):
            self._add(number, node)
        self.counts: dict[int, int] = {}
        self.first: dict[int, int] = {}
        for number in self.places.order:
            found = self.of_node[number]
            self.first.setdefault(found, number)
            self.counts[found] = self.counts.get(found, 0) + 1

    def of(self, value: Value) -> int:
        """The class of a value."""
        if type(value) is Link:
            return self.of_node[value.node]
        assert isinstance(value, Leaf)
        return self._classes.leaf(value)

    def node(self, value: Value | None) -> int | None:
        """The number of a node that sharing counts for; None for any other value."""
        if type(value) is not Link or self._is_plain[value.node]:
            return None
        return value.node

    def default(
        self, node: Node, key: PathKey, argument: Argument | None
    ) -> tuple[Side, Argument] | None:
        """The argument that tells a default, and the side that it is of.

        A graph that was read from text knows no defaults; the other one may.

        Args:
          node: A node of this side.
          key: The key of the argument.
          argument: The argument, if the node lists it.
        """
        if not node.is_buildable:
            return None
        side = self
        if not self.graph.defaults_known:
            if self._teacher is None:
                return None
            side = self._teacher
            argument = side.signatures.get(symbol_key(node.callable), {}).get(key)
        return None if argument is None else (side, argument)

    @property
    def signatures(self) -> dict[Hashable, dict[PathKey, Argument]]:
        """By what this side's nodes call, its arguments."""
        if self._signatures is None:
            self._signatures = {}
            seen = set()
            for node in self.graph.nodes:
                if node.kind in _TOLD and id(node.callable) not in seen:
                    seen.add(id(node.callable))
                    told = {argument.key: argument for argument in node.arguments}
                    self._signatures[symbol_key(node.callable)] = told
        return self._signatures

    def is_default(self, node: Node, argument: Argument) -> bool:
        """Whether what is set is what would hold if it were not, sharing aside."""
        if argument.value is None:
            return True
        return self._holds_anyway(node, argument, self.of(argument.value))

    def _holds_anyway(self, node: Node, argument: Argument, number: int) -> bool:
        """Whether a value of this class is the argument's default."""
        side, told = self, argument
        if not self.graph.defaults_known:
            known = self.default(node, argument.key, argument)
            if known is None:
                return False
            side, told = known
        if told.default is not None:
            return side.of_default(told.default) == number
        if told.factory is None or not isinstance(argument.value, Link):
            return False
        return is_made_by(told.factory, self.graph.nodes[argument.value.node])

    def of_default(self, default: Value) -> int:
        """The class of a default, which all nodes of one callable have in common."""
        found = self._of_default.get(id(default))
        if found is None:
            found = self._of_default[id(default)] = self.of(default)
        return found

    def _add(self, number: int, node: Node) -> None:
        is_plain = node.is_value or node.kind == "reference"
        if node.kind in _TOLD:
            entries, below, is_alone = self._arguments(node)
        else:
            entries, below, is_alone = self._children(node)
        is_alone = is_alone and len(self.places.holders[number]) < 2
        self._is_plain.append(is_plain)
        self.alone.append(is_plain or is_alone)
        head = self._head(node)
        self.heads.append(head)
        self.of_node.append(self._classes.node(head, entries, below))

    def _head(self, node: Node) -> int:
        # Nodes of one callable have one symbol, which is quicker to look up by itself.
        key = node.kind, id(node.callable), id(node.type)
        found = self._of_symbols.get(key)
        if found is None:
            found = self._classes.head(node)
            if node.metadata is None:
                self._of_symbols[key] = found
        return found

    def _arguments(self, node: Node) -> tuple[Any, int, bool]:
        """What a node is told, as it counts for its class.

        And how much is below it, and whether each node below stands in one place only.
        """
        knows_defaults = self.graph.defaults_known
        sizes, of_node, leaf = self._classes.sizes, self.of_node, self._classes.leaf
        below, is_alone, found = 0, True, []
        for argument in node.arguments:
            value, default = argument.value, argument.default
            if value is None:
                if argument.tags:
                    found.append((argument.key, -1, argument.tags))
                continue
            if type(value) is Link:
                number = of_node[value.node]
                is_alone = is_alone and self.alone[value.node]
            else:
                number = leaf(value)  # type: ignore[arg-type]
            if knows_defaults and default is not None:
                holds_anyway = self.of_default(default) == number
            elif knows_defaults and argument.factory is None:
                holds_anyway = False
            else:
                holds_anyway = self._holds_anyway(node, argument, number)
            if not holds_anyway:
                below += sizes[number]
                found.append((argument.key, number, argument.tags))
            elif argument.tags:
                found.append((argument.key, -1, argument.tags))
        return frozenset(found), below, is_alone

    def _children(self, node: Node) -> tuple[Any, int, bool]:
        """The same of a container."""
        of_node, leaf = self.of_node, self._classes.leaf
        is_alone, numbers = True, []
        for argument in node.arguments:
            value = argument.value
            if type(value) is Link:
                numbers.append(of_node[value.node])
                is_alone = is_alone and self.alone[value.node]
            elif value is not None:
                numbers.append(leaf(value))  # type: ignore[arg-type]
        below = sum(map(self._classes.sizes.__getitem__, numbers))
        if node.kind in _SEQUENCES:
            return tuple(numbers), below, is_alone
        keys = (exact_key(a.key) for a in node.arguments)
        pairs = zip(keys, numbers, strict=True)
        entries = tuple(pairs) if "ordered" in node.kind else frozenset(pairs)
        return entries, below, is_alone


def exact_key(key: PathKey) -> Hashable:
    """A key in a form that keeps `True`, `1` and `1.0` apart."""
    return ("key", type(key.value), key.value) if isinstance(key, Key) else key


def symbol_key(symbol: Symbol | None) -> Hashable:
    """What two symbols have in common when they stand for one thing."""
    if symbol is None:
        return None
    if symbol.importable or symbol.live is UNKNOWN:
        return symbol.module, symbol.qualname
    return symbol.module, symbol.qualname, id(symbol.live)


def _bucket(held: Opaque) -> Hashable:
    try:
        return held.type, hash(held.live)
    except TypeError:
        return held.type, held.text
