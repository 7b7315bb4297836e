"""What a build refuses although Fiddle lets it pass."""

from __future__ import annotations

from collections.abc import Iterator

from fdlkit import suggest
from fdlkit.check.findings import Finding
from fdlkit.check.subject import Subject
from fdlkit.graph import paths, reprs
from fdlkit.graph.built import find_built
from fdlkit.graph.hidden_configs import find_hidden
from fdlkit.graph.mutated_defaults import find_mutated_defaults
from fdlkit.graph.unknown_names import UnknownName, find_unknown_names

_MAX_NAMES = 12


def find(subject: Subject) -> Iterator[Finding]:
    """Unknown names, built objects, hidden configs, changed defaults."""
    graph, places = subject.graph, subject.places
    for unknown in find_unknown_names(graph, places):
        yield _unknown_name(subject, unknown)
    built = find_built(graph, places)
    for one in built:
        yield subject.finding(
            "CF011",
            one.path,
            f"{one.what} ({one.type}) is built already",
            fix=f"write {one.instead}",
        )
    told = {one.path for one in built}
    for hidden in find_hidden(graph, places):
        if hidden.path not in told:
            yield subject.finding(
                "CF012",
                hidden.path,
                f"{hidden.config} is inside a {hidden.holder} "
                f"({paths.brief(hidden.path)}{hidden.inside}), where no build looks",
                fix="put it in an argument, a list, a tuple, a NamedTuple or a dict; "
                "make what holds it with fdl.Config too",
            )
    for mutated in find_mutated_defaults(graph, places):
        at = paths.format(mutated.path)
        was, now = reprs.text(mutated.was), reprs.text(mutated.now)
        yield subject.finding(
            "CF013",
            mutated.path,
            f"the default of {mutated.callable} was {mutated.name}={was}, "
            f"and is {now} now",
            fix=f"set it instead of changing what is not set: cfg.{at} = {now}",
        )


def _unknown_name(subject: Subject, unknown: UnknownName) -> Finding:
    path = (*unknown.path, unknown.name)
    if unknown.is_twice:
        return subject.finding(
            "CF014",
            path,
            f"{unknown.callable} is given {unknown.name!r} twice, "
            "by position and by name",
            fix="leave one of them out",
        )
    listed = ", ".join(unknown.parameters[:_MAX_NAMES])
    more = ", …" if len(unknown.parameters) > _MAX_NAMES else ""
    return subject.finding(
        "CF014",
        path,
        f"{unknown.callable} takes no argument {unknown.name!r}\n"
        f"parameters: {listed or 'none'}{more}",
        meant=suggest.hint(unknown.name, unknown.parameters),
        fix=f"rename it, or leave it out: --fdl_set=~{paths.format(path)}",
    )
