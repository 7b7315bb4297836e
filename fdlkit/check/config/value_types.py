"""Values against the annotations of their parameters."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from fdlkit.check.config import fitting
from fdlkit.check.findings import Finding
from fdlkit.check.subject import Subject
from fdlkit.graph import paths, signatures
from fdlkit.graph.faults import BrokenReferenceError
from fdlkit.graph.model import UNKNOWN, Argument, Leaf, Link, Node, Value

_KINDS = ("config", "partial", "arg_factory", "buildable")


def find(subject: Subject) -> Iterator[Finding]:
    """Every set value that is not what its parameter says.

    A value that follows another one by reference is not told beside it: whoever mends
    the source mends it too, and a fix of its own would cut the reference.
    """
    misfits = list(_misfits(subject))
    wrong = {(number, argument.key) for number, argument, _ in misfits}
    for number, argument, finding in misfits:
        value = argument.value
        inner = subject.graph.node(value)
        if inner is not None and inner.kind == "reference":
            assert isinstance(value, Link)
            sources = subject.resolver.sources(value.node, number)
            if any((at.holder, at.key) in wrong for at in sources):
                continue
        yield finding


def _misfits(subject: Subject) -> Iterator[tuple[int, Argument, Finding]]:
    """The misfits, each with the node and the argument that it is at."""
    known: dict[int, Mapping[str, signatures.Parameter] | None] = {}
    for number in subject.places.order:
        node = subject.graph.nodes[number]
        called = None if node.callable is None else node.callable.live
        if node.kind not in _KINDS or called is None or called is UNKNOWN:
            continue
        if id(called) not in known:
            known[id(called)] = _parameters(called)
        parameters = known[id(called)]
        if parameters is None:
            continue
        for argument in node.arguments:
            parameter = _parameter(parameters, argument)
            if argument.value is not None and parameter is not None:
                for finding in _check(subject, number, node, argument, parameter):
                    yield number, argument, finding


def _parameters(called: Any) -> Mapping[str, signatures.Parameter] | None:
    try:
        return signatures.all_parameters(called)
    except (TypeError, ValueError):  # written in C: it says nothing
        return None


def _parameter(
    parameters: Mapping[str, signatures.Parameter], argument: Argument
) -> signatures.Parameter | None:
    if isinstance(argument.key, str):
        found = parameters.get(argument.key)
        return found if found is not None and found.kind in signatures.BY_NAME else None
    if not isinstance(argument.key, int):
        return None
    by_place = [p for p in parameters.values() if p.kind in signatures.BY_PLACE]
    if argument.key < len(by_place):
        return by_place[argument.key]
    kind = inspect.Parameter.VAR_POSITIONAL
    return next((p for p in parameters.values() if p.kind is kind), None)


def _check(
    subject: Subject,
    number: int,
    node: Node,
    argument: Argument,
    parameter: signatures.Parameter,
) -> Iterator[Finding]:
    value = _resolved(subject, number, argument)
    if value is None:
        return
    is_none = isinstance(value, Leaf) and value.value is None
    if is_none and parameter.default is None:
        return  # `x: int = None` says that None will do
    name = argument.key if isinstance(argument.key, str) else ""
    found = fitting.misfit(subject.graph, value, parameter.annotation, name=name)
    if found is None:
        return
    path = (*subject.places.path(number), argument.key, *found.keys)
    where = paths.format(path)
    assert node.callable is not None
    fix = f"--fdl_set={where}=VALUE with such a value, or set it in the config"
    if found.nearest:
        fix = f"write {where} = {found.nearest[0]}"
    of = f" of {node.callable.short}"
    kind = f": {argument.annotation}" if argument.annotation else ""
    if found.keys:
        text = f"{paths.brief(path)}{of} {found.what} ({argument.key}{kind})"
    else:
        text = f"{paths.brief(path)}{kind}{of} {found.what}"
    yield subject.finding(
        "CF003" if found.is_sure else "CF004",
        path,
        text,
        meant=found.meant,
        nearest=found.nearest,
        fix=fix,
    )


def _resolved(subject: Subject, number: int, argument: Argument) -> Value | None:
    """The value, references followed; None if it is not known."""
    inner = subject.graph.node(argument.value)
    if inner is None or inner.kind != "reference":
        return argument.value
    assert isinstance(argument.value, Link)
    try:
        found = subject.resolver.value(argument.value.node, number)
    except BrokenReferenceError:
        return None
    if found is UNKNOWN:
        return None
    if isinstance(found, Link):
        return found
    if isinstance(found, bool | int | float | complex | str | bytes | None):
        return Leaf(found)
    return None
