"""One node where several were meant, and several where one was."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import sys
import typing
from collections.abc import Iterator
from typing import Any

import fiddle as fdl

from fdlkit.check.findings import Finding
from fdlkit.check.subject import Subject
from fdlkit.graph import origins, paths, signatures
from fdlkit.graph.model import Graph, Leaf, Link, Node
from fdlkit.graph.references import Reference

# What counts as large: a copy of less is quicker read than searched for.
_NODES = 6
_VALUES = 8


def find(subject: Subject) -> Iterator[Finding]:
    """Accidental sharing in lists, and copies that were never changed."""
    yield from _repeated(subject)
    yield from _copies(subject)


def _repeated(subject: Subject) -> Iterator[Finding]:
    graph = subject.graph
    for number in subject.places.order:
        node = graph.nodes[number]
        if node.kind == "reference" or "dict" in node.kind:
            continue
        places: dict[int, list[paths.PathKey]] = {}
        for argument in node.arguments:
            if isinstance(argument.key, int) and isinstance(argument.value, Link):
                places.setdefault(argument.value.node, []).append(argument.key)
        for inner, keys in places.items():
            if len(keys) > 1 and has_identity(graph.nodes[inner]):
                yield _one_node(subject, number, inner, keys)


def _one_node(
    subject: Subject, number: int, inner: int, keys: list[paths.PathKey]
) -> Finding:
    held = subject.graph.nodes[inner]
    assert held.callable is not None
    listed = ", ".join(f"[{key}]" for key in keys[:6]) + (", …" if keys[6:] else "")
    short = held.callable.short
    path = subject.places.path(number)
    where = paths.brief(path) if path else ""
    return subject.finding(
        "CF005",
        (*path, keys[0]),
        f"{where}{listed} are one {short}, not {len(keys)}: "
        f"what is built is one object {len(keys)} times",
        numbers={"times": len(keys)},
        fix=f"make one for each: [fdl.Config({short}, ...) for _ in range({len(keys)})]"
        "; or allow it, if one is meant",
    )


def has_identity(node: Node) -> bool:
    """Whether it matters if two places have one object of a node or two equal ones.

    It does for what can change or holds parameters. Functions, frozen values and
    classes without any argument are as good twice as once; nothing is said of what a
    function makes.
    """
    live = None if node.callable is None else node.callable.live
    if node.kind != "config" or not inspect.isclass(live):
        return False
    if _is_module(live):
        return True
    if issubclass(live, tuple | enum.Enum):
        return False
    parameters = getattr(live, "__dataclass_params__", None)
    if parameters is not None and parameters.frozen:
        return False
    return bool(node.arguments) or bool(signatures.all_parameters(live))


def _is_module(live: type) -> bool:
    # Whoever made such a class has loaded its library.
    for module, name in (("flax.linen", "Module"), ("flax.nnx", "Module")):
        base: Any = getattr(sys.modules.get(module), name, None)
        if inspect.isclass(base) and issubclass(live, base):
            return True
    return False


@dataclasses.dataclass(frozen=True)
class _Size:
    nodes: int
    values: int


def _copies(subject: Subject) -> Iterator[Finding]:
    """Copies of one node, equal still, that do not stand side by side.

    Fiddle's history tells a copy from what was made twice: it remembers the making.
    """
    graph = subject.graph
    families: dict[int, list[int]] = {}
    for number in subject.places.order:
        original = subject.taken.originals[number]
        if isinstance(original, fdl.Buildable) and not isinstance(original, Reference):
            born = origins.birth(original)
            if born is not None:
                families.setdefault(born, []).append(number)
    if not any(len(family) > 1 for family in families.values()):
        return
    shapes, sizes = _shapes(graph)
    told: set[int] = set()
    for family in families.values():
        first = family[0]
        for other in family[1:]:
            if first in told or other in told or shapes[first] != shapes[other]:
                continue
            told |= {*_all_below(graph, first), *_all_below(graph, other)}
            size = sizes[first]
            is_large = size.nodes >= _NODES and size.values >= _VALUES
            if is_large and not _are_side_by_side(subject, first, other):
                yield _copy(subject, first, other, size)


def _copy(subject: Subject, first: int, other: int, size: _Size) -> Finding:
    one, two = (paths.format(subject.places.path(n)) for n in (first, other))
    held = subject.graph.nodes[first].callable
    assert held is not None
    return subject.finding(
        "CF006",
        subject.places.path(other),
        f"it is an equal copy of {one} ({held.short}, {size.nodes} nodes): "
        "what is set on one does not reach the other",
        numbers={"nodes": size.nodes, "values": size.values},
        fix=f"cfg.{two} = cfg.{one} shares it; or change what is to differ",
    )


def _are_side_by_side(subject: Subject, one: int, two: int) -> bool:
    """Whether one list holds both: layers that are alike."""
    lists = [
        {
            holder
            for holder, key in subject.places.holders[number]
            if isinstance(key, int) or subject.graph.nodes[holder].kind == "dict"
        }
        for number in (one, two)
    ]
    return bool(lists[0] & lists[1])


def _shapes(graph: Graph) -> tuple[list[int], list[_Size]]:
    """A number for each node, the same for equal ones; and how large each is."""
    numbers: dict[object, int] = {}
    shapes: list[int] = []
    sizes: list[_Size] = []
    for node in graph.nodes:  # each after what is below it
        parts: list[object] = []
        nodes, values = 1, 0
        for argument in node.arguments:
            if isinstance(argument.value, Leaf):
                parts.append((argument.key, argument.value))
                values += 1
            elif argument.value is not None:
                below = argument.value.node
                parts.append((argument.key, shapes[below]))
                nodes += sizes[below].nodes
                values += sizes[below].values
        called = None if node.callable is None else node.callable.name
        key = (node.kind, called, tuple(parts))
        shapes.append(numbers.setdefault(_hashable(key), len(numbers)))
        # A diamond counts what it shares at each place; no one reads such numbers.
        sizes.append(_Size(min(nodes, 10**6), min(values, 10**6)))
    return shapes, sizes


def _hashable(key: typing.Any) -> object:
    try:
        hash(key)
    except TypeError:
        return repr(key)
    return key


def _all_below(graph: Graph, number: int) -> set[int]:
    found: set[int] = set()
    todo = [number]
    while todo:
        at = todo.pop()
        if at not in found:
            found.add(at)
            todo += [
                a.value.node
                for a in graph.nodes[at].arguments
                if isinstance(a.value, Link)
            ]
    return found
