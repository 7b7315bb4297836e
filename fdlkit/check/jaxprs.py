"""Looking through a program and the programs inside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def equations(program: Any) -> Iterator[Any]:
    """Every equation of a jaxpr and of those that it calls, loops over or chooses."""
    pending = [getattr(program, "jaxpr", program)]
    while pending:
        for eqn in pending.pop().eqns:
            yield eqn
            for value in eqn.params.values():
                for inner in value if isinstance(value, tuple | list) else (value,):
                    inner = getattr(inner, "jaxpr", inner)
                    if hasattr(inner, "eqns"):
                        pending.append(inner)


def constraints(
    program: Any,
) -> Iterator[tuple[tuple[int, ...], tuple[tuple[str, ...], ...]]]:
    """The shape and the mesh axes of each dim of every sharding constraint."""
    for eqn in equations(program):
        if eqn.primitive.name != "sharding_constraint":
            continue
        spec = getattr(eqn.params["sharding"], "spec", None)
        if spec is None:
            continue
        entries = tuple(
            (entry,) if isinstance(entry, str) else _axes(entry) for entry in spec
        )
        yield tuple(eqn.outvars[0].aval.shape), entries


def _axes(entry: Any) -> tuple[str, ...]:
    return tuple(entry) if isinstance(entry, tuple | list) else ()
