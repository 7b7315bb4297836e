"""A config as flat text: a line a value, sorted, whole, the same in every process.

It is made to be kept, searched and compared by programs that know lines: `grep`, `git
diff`. A person who wants to see a config looks at the tree.
"""

from __future__ import annotations

import dataclasses
import re

from fdlkit import printable
from fdlkit.diff import wording
from fdlkit.graph import names, paths, texts
from fdlkit.graph.faults import BrokenReferenceError
from fdlkit.graph.model import (
    UNKNOWN,
    Argument,
    Graph,
    Leaf,
    Link,
    Node,
    Symbol,
    Value,
)
from fdlkit.graph.paths import PathKey
from fdlkit.graph.references import spell
from fdlkit.graph.resolve import Resolver
from fdlkit.view import lasting

DEFAULT = "(default)"
NOT_SET = "(not set)"

# Immutable values of more leaves than this are written out once, and named from then
# on: of a diamond of tuples there would be no end.
_MAX_LEAVES = 64

_DIGITS = re.compile(r"(\d+)")


@dataclasses.dataclass(frozen=True)
class Line:
    """One line.

    Attributes:
      path: Where the value is; `<root>` for the first line.
      text: The value, what a reference comes to, its tags, and whether it is a default.
    """

    path: str
    text: str

    def __str__(self) -> str:
        return printable.clean(f"{self.path} = {self.text}")


def lines(graph: Graph) -> list[Line]:
    """Every value of a graph, defaults too, ordered by the keys of their paths.

    A node's own line says what it calls, by its public name. Of what is shared the
    first line has all; each other place says `shared with` and that path. Elements
    are ordered by number, and so are names that end in one.
    """
    return _Flat(graph).lines()


def rank(key: PathKey) -> tuple[object, ...]:
    """Where a key stands among those of its node."""
    if isinstance(key, int):
        return 0, key
    if isinstance(key, str):
        return 1, natural(key)
    return 2, type(key.value).__name__, natural(paths.bracket(key))


def natural(text: str) -> tuple[object, ...]:
    """A text's place among others, its numbers counted: `b2` is before `b10`."""
    parts = _DIGITS.split(text)
    numbers = tuple(int(part[:300]) for part in parts[1::2])
    return tuple(zip(parts[::2], (*numbers, -1), strict=True)), text


@dataclasses.dataclass(frozen=True)
class _Item:
    """A value that is about to become a line.

    Attributes:
      way: Where it is, as it continues the root's path: `.a[0]`.
      argument: The argument that holds it; None for the root.
      holder: The node that holds it; None for the root.
      value: The value; None if nothing is set.
      is_default: Whether it is part of a default.
    """

    way: str
    argument: Argument | None
    holder: int | None
    value: Value | None
    is_default: bool


class _Flat:
    def __init__(self, graph: Graph):
        self._graph = graph
        self._resolver = Resolver(graph)
        self._names = names.Names()
        self._sizes = _sizes(graph)
        self._first: dict[int, str] = {}  # where a node has its lines

    def lines(self) -> list[Line]:
        found = []
        todo = [_Item("", None, None, self._graph.root, False)]
        while todo:
            item = todo.pop()
            text, expanded = self._text(item)
            if item.argument is not None:
                text += "".join(f"  #{tag.name}" for tag in item.argument.tags)
            if item.is_default:
                text += f"  {DEFAULT}"
            found.append(Line(_path(item.way), text))
            if expanded is not None:
                todo += reversed(self._below(item, expanded))
        return found

    def _below(self, item: _Item, number: int) -> list[_Item]:
        arguments = self._graph.nodes[number].arguments
        found = []
        for argument in sorted(arguments, key=lambda argument: rank(argument.key)):
            is_unset = argument.value is None
            found.append(
                _Item(
                    item.way + paths.relative((argument.key,)),
                    argument,
                    number,
                    argument.default if is_unset else argument.value,
                    item.is_default or (is_unset and _has_default(argument)),
                )
            )
        return found

    def _text(self, item: _Item) -> tuple[str, int | None]:
        """What a line says, and the node whose arguments come below it."""
        value = item.value
        if value is None:
            factory = None if item.argument is None else item.argument.factory
            return (NOT_SET if factory is None else f"{_name(factory)}()"), None
        if isinstance(value, Leaf):
            return lasting.leaf(value), None
        node = self._graph.nodes[value.node]
        if node.kind == "reference":
            return self._reference(value.node, item.holder), None
        line = self._one_line(value, node)
        if line is not None:
            return line, None
        if item.is_default:
            is_many = self._sizes[value.node] > _MAX_LEAVES
            return _head(node), (None if is_many else value.node)
        first = self._first.get(value.node)
        if first is None:
            self._first[value.node] = _path(item.way)
        elif not node.is_value:
            return f"shared with {first}", None
        elif self._sizes[value.node] > _MAX_LEAVES:
            return f"equal to {first}", None
        return _head(node), value.node

    def _one_line(self, value: Link, node: Node) -> str | None:
        """An empty container, an immutable tuple of leaves, a set of leaves."""
        if node.is_buildable:
            return None
        if not node.arguments:
            return texts.inline(self._graph, value)
        if not all(isinstance(argument.value, Leaf) for argument in node.arguments):
            return None
        parts = [
            lasting.leaf(a.value) for a in node.arguments if isinstance(a.value, Leaf)
        ]
        if node.kind == "tuple" and node.is_value:
            return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
        if node.kind in ("set", "frozenset"):
            inside = ", ".join(parts)
            return f"{{{inside}}}" if node.kind == "set" else f"frozenset({{{inside}}})"
        return None

    def _reference(self, number: int, holder: int | None) -> str:
        written = spell(self._graph, number)
        if holder is None:  # of a root there is nothing to refer to
            return written
        try:
            found = self._resolver.value(number, holder)
        except BrokenReferenceError:
            return f"{written} = ?"
        if found is UNKNOWN:
            return written
        if isinstance(found, Link):
            return f"{written} = {_head(self._graph.nodes[found.node])}"
        return f"{written} = {lasting.leaf(Leaf(self._names.leaf(found)))}"


def _head(node: Node) -> str:
    """What a node calls, or what kind of container it is; of one with an order, that.

    The keys of an `OrderedDict` are sorted like any others here, so it tells them.
    """
    if node.kind == "ordered_dict":
        keys = (repr(paths.to_dict_key(argument.key)) for argument in node.arguments)
        return f"OrderedDict of {', '.join(keys)}"
    if node.metadata is not None and node.metadata.value is not None:
        return f"{wording.called(node)}, {lasting.leaf(node.metadata)}"
    return wording.called(node)


def _name(symbol: Symbol) -> str:
    return symbol.name.removeprefix("builtins.")


def _has_default(argument: Argument) -> bool:
    return argument.default is not None or argument.factory is not None


def _path(way: str) -> str:
    return way.removeprefix(".") or paths.ROOT


def _sizes(graph: Graph) -> list[int]:
    """How many leaves are below each node, counted as often as they are written."""
    sizes: list[int] = []
    for node in graph.nodes:  # what is below a node comes before it
        size = 0
        for argument in node.arguments:
            value = argument.value
            size += sizes[value.node] if isinstance(value, Link) else 1
        sizes.append(min(size, _MAX_LEAVES + 1))
    return sizes
