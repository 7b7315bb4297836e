"""The places that a reference leads through, each with who wrote what is there."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from fdlkit.graph import paths, texts
from fdlkit.graph.faults import Found
from fdlkit.graph.model import Argument, Graph, Link, Origin
from fdlkit.graph.paths import Path
from fdlkit.graph.references import spell
from fdlkit.graph.resolve import Resolver


@dataclasses.dataclass(frozen=True, slots=True)
class Hop:
    """One place that a reference stands for.

    Attributes:
      level: 0 for what the reference itself names, 1 for what a reference there names.
      path: The place; inside a default, as the reference names it.
      value: What is there, on one line.
      is_default: Whether nothing is set there, so that it is the callable's default.
      origin: Who wrote it, if it is known.
    """

    level: int
    path: str
    value: str
    is_default: bool
    origin: Origin | None


def hops(
    resolver: Resolver,
    reference: int,
    holder: int,
    writer: Callable[[Path], Origin | None],
) -> tuple[Hop, ...]:
    """Every place on the way from a reference to its value, each once.

    A computed reference leads to the places of both its sides. What is reached twice
    is told once.

    Args:
      resolver: Of the graph.
      reference: The reference's node.
      holder: The node or container that holds it.
      writer: Who wrote the value at a path last; asked for elements of containers,
        of which a graph does not know it.

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
            found.append(_hop(resolver, number, end, level, writer))
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


def _hop(
    resolver: Resolver,
    reference: int,
    end: Found,
    level: int,
    writer: Callable[[Path], Origin | None],
) -> Hop:
    graph = resolver.graph
    argument = _argument(graph, end)
    is_default = _is_default(resolver, end)
    keys = path_of(resolver, end)
    path = paths.format(keys)
    if is_inside_default(resolver, end):  # where no path leads but the reference's own
        path = spell(graph, reference).removeprefix("ref(").removesuffix(")")
    origin = None if argument is None else argument.origin
    if origin is None and not is_default:
        origin = writer(keys)
    return Hop(level, path, texts.brief(graph, end.value), is_default, origin)


def _argument(graph: Graph, end: Found) -> Argument | None:
    if end.holder is None or end.key is None:
        return None
    return graph.nodes[end.holder].argument(end.key)


def _is_default(resolver: Resolver, end: Found) -> bool:
    argument = _argument(resolver.graph, end)
    is_unset = argument is not None and argument.value is None
    return is_unset or is_inside_default(resolver, end)


def is_inside_default(resolver: Resolver, end: Found) -> bool:
    """Whether only a default leads to what holds it."""
    holder = end.holder
    if holder is None or Link(holder) == resolver.graph.root:
        return False
    return not resolver.places.holders[holder]
