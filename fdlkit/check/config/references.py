"""References that lead nowhere, mean something else by now, or were used as values."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator

from fdlkit.check.findings import Finding
from fdlkit.check.subject import Subject
from fdlkit.errors import UserError
from fdlkit.graph import origins, paths, reprs, walk
from fdlkit.graph.faults import BrokenReferenceError, Found, find_argument
from fdlkit.graph.model import UNKNOWN, Graph, Leaf, Link, Node, Origin
from fdlkit.graph.paths import Path
from fdlkit.graph.references import Reference, Target, comparison, spell

# What `str()` of a reference looks like, anywhere in a text.
_SPELT = re.compile(r"\bref\((\^?\.*[\w\[\]'.]+)\)")


@dataclasses.dataclass(frozen=True)
class _Position:
    """One place where a plain reference stands, alone or in a computation.

    Attributes:
      number: The reference.
      whole: The outermost reference that it is a part of.
      holder: The node or container that holds `whole`.
      path: Where `whole` stands.
      target: What its path means.
    """

    number: int
    whole: int
    holder: int
    path: Path
    target: Target


def find(subject: Subject) -> Iterator[Finding]:
    """Everything about references, in the order of a reader."""
    told: set[str] = set()
    for position in _positions(subject):
        try:
            subject.resolver.value(position.whole, position.holder)
        except BrokenReferenceError as error:
            if error.lines[0] not in told:
                told.add(error.lines[0])
                yield _broken(subject, position, error)
            continue
        if found := _nearer(subject, position):
            yield found
    yield from _spelt(subject)
    yield from _compared(subject)


def _positions(subject: Subject) -> Iterator[_Position]:
    graph = subject.graph
    for holder in subject.places.order:
        node = graph.nodes[holder]
        if node.kind == "reference":
            continue
        for argument in node.arguments:
            whole = argument.value
            inner = graph.node(whole)
            if inner is None or inner.kind != "reference":
                continue
            assert isinstance(whole, Link)
            path = (*subject.places.path(holder), argument.key)
            for number in _plain_parts(graph, whole.node):
                target = Target.parse(_path_text(graph.nodes[number]))
                yield _Position(number, whole.node, holder, path, target)


def _plain_parts(graph: Graph, whole: int) -> Iterator[int]:
    todo, seen = [whole], set()
    while todo:
        at = todo.pop()
        if at in seen:
            continue
        seen.add(at)
        node = graph.nodes[at]
        if node.argument("path") is not None:
            yield at
            continue
        for name in ("right", "left"):
            side = node.argument(name)
            if side is not None and isinstance(side.value, Link):
                todo.append(side.value.node)


def _path_text(node: Node) -> str:
    argument = node.argument("path")
    assert argument is not None and isinstance(argument.value, Leaf)
    return str(argument.value.value)


def _broken(
    subject: Subject, position: _Position, error: BrokenReferenceError
) -> Finding:
    first, *more = error.lines
    meant = next((line.strip() for line in more if "did you mean" in line), None)
    told = [line.strip() for line in more if "did you mean" not in line]
    fix = f"set {paths.format(position.path)} itself, or mend the reference's path"
    if position.target.start == "root":
        name = paths.format(position.target.path)
        own = min(subject.places.own(position.holder), default=None)
        if own is not None and _step_all(subject, own, position.target.path):
            meant = f"{name} is at {subject.places.describe(own)}, which holds it"
            fix = f"write ref('.{name}'), which survives wrapping and moving"
        elif (near := _around(subject, position)) is not None:
            meant = f"{name} is at {subject.places.describe(near)}, which is around it"
            fix = f"write ref('^{name}'), which survives wrapping and moving"
    return subject.finding(
        "CF020", position.path, "\n".join([first, *told]), meant=meant, fix=fix
    )


def _around(subject: Subject, position: _Position) -> int | None:
    """The nearest node around a reference, but the root, that has what it names."""
    name = position.target.path[0]
    if not isinstance(name, str):
        return None
    root = subject.graph.root.node if isinstance(subject.graph.root, Link) else None
    for around in sorted(subject.places.nearest(position.holder, name)):
        if around != root and _step_all(subject, around, position.target.path):
            return around
    return None


def _nearer(subject: Subject, position: _Position) -> Finding | None:
    """An absolute reference whose words mean another value nearer by.

    Told only if the nearer one is set, and to something else: a config that was
    wrapped is then likely to have meant it.
    """
    if position.target.start != "root":
        return None
    around = _around(subject, position)
    if around is None:
        return None
    near = _step_all(subject, around, position.target.path)
    holds = subject.resolver.destinations(position.number, position.holder)
    assert near is not None
    if any((end.holder, end.key) == (near.holder, near.key) for end in holds):
        return None
    argument = None
    if near.holder is not None and near.key is not None:
        argument = subject.graph.nodes[near.holder].argument(near.key)
    if argument is None or argument.value is None:
        return None
    here = subject.graph.node(argument.value)
    if here is not None and here.kind == "reference":
        return None  # it follows something itself: perhaps this very reference
    far, close = _worth(subject, holds[0]), _worth(subject, near)
    if far is None or close is None or far == close:
        return None
    text = spell(subject.graph, position.number)
    name = paths.format(position.target.path)
    return subject.finding(
        "CF009",
        position.path,
        f"{text} is the root's, {far}, while {subject.places.describe(around)} "
        f"around it has {name} = {close}",
        meant=f"did you mean ref('^{name}')?",
        numbers={"root": far, "nearer": close},
        fix=f"write ref('^{name}') for the nearer one, or rename one of the two",
    )


def _worth(subject: Subject, end: Found) -> str | None:
    if isinstance(end.value, Leaf):
        live = end.value.live
        return None if live is UNKNOWN else reprs.text(live)
    return None


def _step_all(subject: Subject, start: int, path: Path) -> Found | None:
    at = Found(Link(start), None, None)
    for key in path:
        node = subject.graph.node(at.value)
        argument = None if node is None else find_argument(node, key)
        if argument is None:
            return None
        reached = argument.default if argument.value is None else argument.value
        if reached is None:
            return None
        assert isinstance(at.value, Link)
        at = Found(reached, at.value.node, argument.key)
    return at


def _spelt(subject: Subject) -> Iterator[Finding]:
    """Texts that a reference was written into."""
    for number in subject.places.order:
        node = subject.graph.nodes[number]
        if node.kind == "reference":
            continue
        for argument in node.arguments:
            value = argument.value.live if isinstance(argument.value, Leaf) else None
            match = _SPELT.search(value) if isinstance(value, str) else None
            if match is None or not _is_target(match[1]):
                continue
            path = (*subject.places.path(number), argument.key)
            yield subject.finding(
                "CF010",
                path,
                f"{reprs.text(value)} holds the words {match[0]}, not the value that "
                "they stand for",
                fix="make the text where the value is known: in what is built, or from "
                "an argument of the config's function",
            )


def _compared(subject: Subject) -> Iterator[Finding]:
    """References that the config's own code compared with a value."""
    for number in subject.places.order:
        original = subject.taken.originals[number]
        if isinstance(original, Reference):
            continue
        for key, value in walk.children(original):
            found = comparison(value) if isinstance(value, Reference) else None
            if found is None:
                continue
            at = origins.show(Origin(found.file, found.line))
            yield subject.finding(
                "CF010",
                (*subject.places.path(number), key),
                f"{value!r} was compared with == at {at}: no value is equal to it "
                "while the config is made",
                fix="decide where the value is known: in what is built, or by an "
                "argument of the config's function",
            )


def _is_target(text: str) -> bool:
    try:
        Target.parse(text)
    except UserError:
        return False
    return True
