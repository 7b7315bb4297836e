"""Arguments that a node's callable does not take, though Fiddle let them pass."""

from __future__ import annotations

import dataclasses

from fdlkit import suggest
from fdlkit.graph import origins, paths, signatures
from fdlkit.graph.model import UNKNOWN, Graph, Origin
from fdlkit.graph.places import Places

_MAX_NAMES = 12


@dataclasses.dataclass(frozen=True)
class UnknownName:
    """An argument that no call of its callable would take.

    Attributes:
      path: The path of the node.
      name: The argument's name.
      callable: The public name of what the node calls.
      parameters: The names that it takes.
      is_twice: Whether it is known, but given by its position besides.
      origin: Who wrote it, if that is known.
    """

    path: paths.Path
    name: str
    callable: str
    parameters: tuple[str, ...]
    is_twice: bool
    origin: Origin | None

    def lines(self) -> tuple[str, ...]:
        """What is wrong and where, what was likely meant, what is possible."""
        at = f"at {paths.format(self.path)} ({self.callable})"
        by = f" ({origins.show(self.origin)})" if self.origin else ""
        if self.is_twice:
            what = f"'{self.name}' is given twice, by position and by name, {at}{by}"
            return (what, "  leave one of them out")
        what = f"no parameter '{self.name}' {at}{by}"
        hint = suggest.hint(self.name, self.parameters)
        more = ", …" if len(self.parameters) > _MAX_NAMES else ""
        listed = ", ".join(self.parameters[:_MAX_NAMES]) or "none"
        return (
            what,
            *([f"  {hint}"] if hint else []),
            f"  parameters: {listed}{more}",
        )


def find_unknown_names(
    graph: Graph, places: Places | None = None
) -> tuple[UnknownName, ...]:
    """The arguments of a config that cannot be given to what they are set on.

    Fiddle refuses them where it knows the signature; here are those of callables with
    the signature `(*args, **kwargs)` whose real one is known.
    """
    places = places or Places(graph)
    closed: dict[int, tuple[str, ...] | None] = {}
    found = []
    for number in places.order:
        node = graph.nodes[number]
        if node.callable is None or not node.is_buildable or node.kind == "reference":
            continue
        called = node.callable.live
        if id(called) not in closed:
            closed[id(called)] = _closed(called)
        known = closed[id(called)]
        if known is None:
            continue
        given = [a for a in node.arguments if a.value is not None]
        by_place = signatures.placed(called, [a.key for a in given]).names.values()
        for argument in given:
            if type(argument.key) is not str:
                continue
            if argument.key in known and argument.key not in by_place:
                continue
            found.append(
                UnknownName(
                    places.path(number),
                    argument.key,
                    node.callable.name,
                    known,
                    argument.key in known,
                    argument.origin,
                )
            )
    return tuple(found)


def _closed(called: object) -> tuple[str, ...] | None:
    """The names that a callable takes, if Fiddle lets others pass."""
    if called is UNKNOWN or not callable(called) or not signatures.is_hidden(called):
        return None
    return tuple(
        parameter.name
        for parameter in signatures.all_parameters(called).values()
        if parameter.kind in signatures.BY_NAME
    )
