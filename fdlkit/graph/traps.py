"""What would go wrong in silence, told before anything is built."""

from __future__ import annotations

from fdlkit.errors import UserError
from fdlkit.graph.built import find_built
from fdlkit.graph.hidden_configs import find_hidden
from fdlkit.graph.model import Graph
from fdlkit.graph.mutated_defaults import find_mutated_defaults
from fdlkit.graph.places import Places
from fdlkit.graph.unknown_names import find_unknown_names


def refuse_traps(graph: Graph, places: Places) -> None:
    """Looks for every trap that this package knows.

    Raises:
      UserError: There are names that callables do not take, built objects, configs
        where no build looks, or defaults that were changed. All of them are told.
    """
    problems = [unknown.lines() for unknown in find_unknown_names(graph, places)]
    built = find_built(graph, places)
    if built:
        problems.append(
            (
                _counted(len(built), "built object", "in this config"),
                *(line for one in built for line in one.lines()),
                "  it would be one object in every build, with nothing to show or "
                "override",
            )
        )
    told = {one.path for one in built}
    hidden = [one for one in find_hidden(graph, places) if one.path not in told]
    if hidden:
        problems.append(
            (
                _counted(len(hidden), "config", "where no build looks"),
                *(one.line() for one in hidden),
                "  put it in an argument, a list, a tuple, a NamedTuple or a dict; "
                "make what holds it with fdl.Config too",
            )
        )
    mutated = find_mutated_defaults(graph, places)
    if mutated:
        problems.append(
            (
                "1 default is not what it was written as"
                if len(mutated) == 1
                else f"{len(mutated)} defaults are not what they were written as",
                *(line for one in mutated for line in one.lines()),
            )
        )
    if problems:
        lines = [*problems[0]]
        for first, *rest in problems[1:]:
            # Whoever prints the error says so of its first line only.
            lines += [f"error: {first}", *rest]
        raise UserError(*lines)


def _counted(count: int, what: str, where: str) -> str:
    """`1 config is where ...`, `2 configs are where ...`."""
    return f"{count} {what}{'s are' if count > 1 else ' is'} {where}"
