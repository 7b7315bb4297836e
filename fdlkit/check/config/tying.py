"""Whether nodes that are shared have parameters that are, and the other way round."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from fdlkit.check.findings import Finding
from fdlkit.check.objects import ScopePath
from fdlkit.check.subject import Subject
from fdlkit.graph import paths
from fdlkit.graph.model import Link, Node

MODEL = "model"


def find(subject: Subject) -> Iterator[Finding]:
    """What the config and the initialised parameters disagree about."""
    if subject.trainer is None:
        return
    import flax.linen as nn

    from fdlkit.train.function_models import FunctionModel

    if isinstance(subject.trainer.model, FunctionModel):
        yield from _recipes(subject)
    if not isinstance(subject.trainer.model, nn.Module):
        return
    hidden = list(_across_templates(subject))
    yield from hidden
    if not hidden and subject.calls is not None:
        yield from _against_parameters(subject, subject.calls.paths)


def _recipes(subject: Subject) -> Iterator[Finding]:
    """Recipes of Haiku's modules that stand in two places.

    Those of NNX modules are refused when the config is built.
    """
    base: Any = getattr(sys.modules.get("haiku"), "Module", None)
    for number in subject.places.order:
        node = subject.graph.nodes[number]
        made: Any = None if node.callable is None else node.callable.live
        holders = subject.places.holders[number]
        is_module = inspect.isclass(made) and base and issubclass(made, base)
        if node.kind != "partial" or not is_module or len(holders) < 2:
            continue
        held = [paths.format((*subject.places.path(h), key)) for h, key in holders]
        yield subject.finding(
            "CF007",
            held[0],
            f"{' and '.join(held)} are one recipe of a {made.__name__}, and each place "
            "that calls it makes a module with parameters of its own",
            subject=held[1],
            fix="make them two nodes; or give it in one place, and have the function "
            "call what it makes twice",
        )


def _across_templates(subject: Subject) -> Iterator[Finding]:
    from fdlkit.nn.sharing import find_hidden_sharing

    assert subject.trainer is not None
    for one in find_hidden_sharing(subject.trainer.model, root=MODEL):
        yield subject.finding(
            "CF015",
            one.inside,
            f"{one.inside} and {one.outside} are one node, and the first is in the "
            f"template of {one.repeat}, which gives each layer parameters of its own",
            subject=one.outside,
            fix=f"put it into {one.repeat}.shared and have the block take it as an "
            "argument; or make it two nodes",
        )


def _against_parameters(
    subject: Subject, called: Mapping[int, set[ScopePath]]
) -> Iterator[Finding]:
    assert subject.shapes is not None
    params = subject.shapes.state.params
    below = _below_model(subject)
    for number in subject.places.order:
        if number not in called or number not in below:
            continue
        where = {path for path in called[number] if path and _has(params, path)}
        if len(where) > 1 and len(subject.places.holders[number]) > 1:
            yield _untied(subject, number, where)
        elif not called[number] and not _is_inside_uncalled(subject, number, called):
            yield _uncalled(subject, number, called)


def _untied(subject: Subject, number: int, where: set[ScopePath]) -> Finding:
    holders = subject.places.holders[number]
    held = [paths.format((*subject.places.path(h), key)) for h, key in holders]
    made = sorted("/".join(("params", *path)) for path in where)
    return subject.finding(
        "CF007",
        held[0],
        f"{' and '.join(held)} are one node, and the model has parameters for it at "
        f"{' and '.join(made)}",
        subject=made[1],
        numbers={"nodes": 1, "parameter_trees": len(made)},
        fix="have the model call the module that it is given, not a copy of it; "
        "or make them two nodes",
    )


def _uncalled(
    subject: Subject, number: int, called: Mapping[int, set[ScopePath]]
) -> Finding:
    node = subject.graph.nodes[number]
    path = paths.format(subject.places.path(number))
    assert node.callable is not None
    twin = _twin(subject, number, called)
    text = (
        f"{path} ({node.callable.name}) has no parameters: nothing calls it when the "
        "model is initialised"
    )
    if twin is None:
        return subject.finding(
            "CF008",
            path,
            text,
            fix=f"have the model call it, or leave it out: --fdl_set=~{path}",
        )
    other = paths.format(subject.places.path(twin))
    return subject.finding(
        "CF008",
        path,
        f"{text}, while {other}, made alike, has some",
        subject="params/" + "/".join(min(called[twin])),
        fix=f"cfg.{path} = cfg.{other} says that they are one; or have the model call "
        "both",
    )


def _twin(
    subject: Subject, number: int, called: Mapping[int, set[ScopePath]]
) -> int | None:
    """Another node of the same callable that is called."""
    wanted = subject.graph.nodes[number].callable
    for other, where in called.items():
        is_alike = subject.graph.nodes[other].callable == wanted
        if other != number and is_alike and any(where):
            return other
    return None


def _is_inside_uncalled(
    subject: Subject, number: int, called: Mapping[int, set[ScopePath]]
) -> bool:
    """Whether what holds it is not called either, and is told instead."""
    above = subject.places.enclosing(number)
    return any(node in called and not called[node] for node in above)


def _below_model(subject: Subject) -> set[int]:
    """The nodes that the model is made of, those of partials left out.

    What a partial makes is made anew at each call, and has names of its own.
    """
    root = subject.root
    model = None if root is None else root.argument(MODEL)
    if model is None or not isinstance(model.value, Link):
        return set()
    found: set[int] = set()
    todo = [model.value.node]
    while todo:
        at = todo.pop()
        node: Node = subject.graph.nodes[at]
        if at in found or node.kind in ("partial", "arg_factory", "reference"):
            continue
        found.add(at)
        todo += [a.value.node for a in node.arguments if isinstance(a.value, Link)]
    return found


def _has(params: Any, path: ScopePath) -> bool:
    """Whether there are parameters at a path."""
    for name in path:
        if not isinstance(params, Mapping) or name not in params:
            return False
        params = params[name]
    return not isinstance(params, Mapping) or bool(params)
