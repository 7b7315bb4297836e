"""A learning rate that is logged, and not the one that the optimizer was given."""

from __future__ import annotations

from collections.abc import Iterator

from fdlkit.check.findings import Finding
from fdlkit.check.subject import Subject
from fdlkit.graph import paths, texts
from fdlkit.graph.faults import BrokenReferenceError
from fdlkit.graph.model import UNKNOWN, Leaf, Link, Value

RATE, OPTIMIZER = "learning_rate", "optimizer"


def find(subject: Subject) -> Iterator[Finding]:
    """The trainer's `learning_rate`, if no part of its optimizer has one like it."""
    root = subject.graph.root
    if not subject.is_experiment or not isinstance(root, Link):
        return
    told = subject.graph.nodes[root.node].argument(RATE)
    if told is None or told.value is None or told.value == Leaf(None):
        return
    logged = _worth(subject, root.node, told.value)
    used = [
        (path, _worth(subject, holder, value), value)
        for path, holder, value in _rates(subject)
    ]
    if not used or any(_same(subject, logged, rate) for _, rate, _ in used):
        return
    path, _, value = used[0]
    where = paths.format(path)
    follows = f"ref({where!r})"
    yield subject.finding(
        "CF021",
        (RATE,),
        f"{RATE}, which is logged, is {texts.brief(subject.graph, told.value)}; the "
        f"optimizer's own is another: {where} is {texts.brief(subject.graph, value)}",
        fix=f"have it follow: {RATE} = {follows}",
        nearest=(follows,),
    )


def _rates(subject: Subject) -> Iterator[tuple[paths.Path, int, Value]]:
    """Every learning rate that is set below the optimizer, with what holds it."""
    graph = subject.graph
    start = subject.node_at((OPTIMIZER,))
    todo: list[tuple[paths.Path, int]] = (
        [] if start is None else [((OPTIMIZER,), start)]
    )
    seen = set()
    while todo:
        path, number = todo.pop()
        if number in seen or graph.nodes[number].kind == "reference":
            continue
        seen.add(number)
        below = []
        for argument in graph.nodes[number].arguments:
            value = argument.value
            if value is None:
                continue
            if argument.key == RATE:
                yield (*path, argument.key), number, value
            elif isinstance(value, Link):
                below.append(((*path, argument.key), value.node))
        todo += reversed(below)


def _worth(subject: Subject, holder: int, value: Value) -> object:
    """What a value is: a link to a node, a plain value, or `UNKNOWN`."""
    node = subject.graph.node(value)
    if node is not None and node.kind == "reference":
        assert isinstance(value, Link)
        try:
            return subject.resolver.value(value.node, holder)
        except BrokenReferenceError:
            return UNKNOWN
    return value.live if isinstance(value, Leaf) else value


def _same(subject: Subject, one: object, other: object) -> bool:
    """Whether two values build the same, as far as is known."""
    nodes = subject.graph.nodes
    todo = [(one, other)]
    while todo:
        left, right = todo.pop()
        if left is UNKNOWN or right is UNKNOWN or left == right:
            continue
        if not (isinstance(left, Link) and isinstance(right, Link)):
            return False
        a, b = nodes[left.node], nodes[right.node]
        if (a.kind, a.callable) != (b.kind, b.callable):
            return False
        for argument in a.arguments:
            twin = b.argument(argument.key)
            values = [
                None if x is None else x.default if x.value is None else x.value
                for x in (argument, twin)
            ]
            if None in values:
                if values != [None, None]:
                    return False
                continue
            first, second = values
            assert first is not None and second is not None
            todo.append(
                (
                    _worth(subject, left.node, first),
                    _worth(subject, right.node, second),
                )
            )
        if len(a.arguments) != len(b.arguments):
            return False
    return True
