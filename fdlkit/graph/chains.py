"""The places that a reference leads through, each with who wrote what is there."""

from __future__ import annotations

import dataclasses

from fdlkit.graph import paths, texts
from fdlkit.graph.faults import Found
from fdlkit.graph.model import Argument, Graph, Link, Origin, Value
from fdlkit.graph.paths import Path
from fdlkit.graph.resolve import Resolver


@dataclasses.dataclass(frozen=True, slots=True)
class Hop:
    """One place that a reference stands for.

    Attributes:
      level: 0 for what the reference itself names, 1 for what a reference there names.
      path: The place.
      value: What is there, on one line.
      is_default: Whether nothing is set there, so that it is the callable's default.
      origin: Who wrote it, if it is known.
    """

    level: int
    path: str
    value: str
    is_default: bool
    origin: Origin | None


def hops(resolver: Resolver, reference: int, holder: int) -> tuple[Hop, ...]:
    """Every place on the way from a reference to its value, each once.

    A computed reference leads to the places of both its sides. What is reached twice
    is told once.

    Args:
      resolver: Of the graph.
      reference: The reference's node.
      holder: The node or container that holds it.

    Raises:
      BrokenReferenceError: It leads nowhere.
    """
    graph = resolver.graph
    found: list[Hop] = []
    seen = set()
    todo = [(reference, holder, 0)]
    while todo:
        number, around, level = todo.pop()
        if (number, around) in seen:
            continue
        seen.add((number, around))
        node = graph.nodes[number]
        if node.argument("path") is None:
            sides = [node.argument("left"), node.argument("right")]
            links = [side.value for side in sides if side is not None]
            todo += [
                (side.node, around, level)
                for side in reversed(links)
                if isinstance(side, Link)
            ]
            continue
        further = []
        for end in resolver.destinations(number, around):
            found.append(_hop(resolver, end, level))
            inner = graph.node(end.value)
            if inner is not None and inner.kind == "reference":
                assert isinstance(end.value, Link) and end.holder is not None
                further.append((end.value.node, end.holder, level + 1))
        todo += reversed(further)
    return tuple(found)


def path_of(resolver: Resolver, end: Found) -> Path:
    """The first path to what a reference leads to."""
    if end.holder is None or end.key is None:
        return ()
    return (*resolver.places.path(end.holder), end.key)


def _hop(resolver: Resolver, end: Found, level: int) -> Hop:
    argument = _argument(resolver.graph, end)
    return Hop(
        level=level,
        path=paths.format(path_of(resolver, end)),
        value=_brief(resolver.graph, end.value),
        is_default=argument is not None and argument.value is None,
        origin=None if argument is None else argument.origin,
    )


def _argument(graph: Graph, end: Found) -> Argument | None:
    if end.holder is None or end.key is None:
        return None
    return graph.nodes[end.holder].argument(end.key)


def _brief(graph: Graph, value: Value) -> str:
    return texts.brief(graph, value)
