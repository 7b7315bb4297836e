"""Texts of a config made fit to be shown: of bounded length, and only printable."""

from __future__ import annotations

from fdlkit import printable
from fdlkit.graph import texts
from fdlkit.graph.model import Argument, Graph, Leaf, Link, Origin, Value

# A container of more elements than this, all levels counted, is told by its size.
_MAX_ELEMENTS = 64


def shown(text: str, limit: int) -> str:
    """The text, printable, cut at `limit` characters."""
    cut = printable.clean(text[: limit + 1])
    return cut if len(cut) <= limit else f"{cut[: limit - 1]}…"


def flag(origin: Origin | None) -> str:
    """The flag by which an override wrote a value, `--fdl_set`; empty if none did."""
    if origin is None or origin.cause is None:
        return ""
    return printable.clean(origin.cause.flag)


def set_by(graph: Graph, argument: Argument | None) -> str:
    """The flag by which an override set an argument, or what its node calls."""
    if argument is None:
        return ""
    node = graph.node(argument.value)
    return flag(argument.origin) or flag(node.swapped if node is not None else None)


class Texts:
    """The texts of one graph's values, each made once and never longer than a limit."""

    def __init__(self, graph: Graph, limit: int):
        self._graph = graph
        self._limit = limit
        self._sizes = _sizes(graph)
        self._containers: dict[int, str] = {}

    def value(self, value: Value) -> str:
        """A leaf, or a container in which nothing is a node of its own."""
        if isinstance(value, Leaf):
            return shown(self._leaf(value), self._limit)
        if value.node not in self._containers:
            text = shown(self._container(value), self._limit)
            self._containers[value.node] = text
        return self._containers[value.node]

    def _leaf(self, leaf: Leaf) -> str:
        held = leaf.value
        if isinstance(held, str | bytes) and len(held) > self._limit:
            return repr(held[: self._limit + 1])
        return texts.leaf(leaf)

    def _container(self, value: Link) -> str:
        node = self._graph.nodes[value.node]
        if self._sizes[value.node] <= _MAX_ELEMENTS:
            return texts.brief(self._graph, value)
        return f"{node.kind.replace('_', ' ')} of {len(node.arguments)}"


def _sizes(graph: Graph) -> list[int]:
    """How many leaves are below each node, counted as often as they show."""
    sizes: list[int] = []
    for node in graph.nodes:  # what is below a node comes before it
        size = 0
        for argument in node.arguments:
            value = argument.value
            size += sizes[value.node] if isinstance(value, Link) else 1
        sizes.append(min(size, _MAX_ELEMENTS + 1))
    return sizes
