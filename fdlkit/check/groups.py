"""Optimizers by pattern: what a pattern that fits no parameter is told as."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fdlkit import suggest
from fdlkit.graph import paths
from fdlkit.graph.paths import Path

if TYPE_CHECKING:
    from fdlkit.check.findings import Finding
    from fdlkit.check.subject import Subject
    from fdlkit.train.patterns import PatternError

BY_PATH, GROUPS = "fdlkit.train.optimizers.by_path", "groups"


def finding(subject: Subject, error: PatternError) -> Finding:
    """A pattern that cannot be used, or a parameter that has none, where it stands."""
    first, *rest = error.lines
    lines = [line for line in rest if not line.startswith("did you mean")]
    meant = error.meant if error.pattern is not None else None
    return subject.finding(
        "SH011",
        _place(subject, error.pattern),
        "\n".join([first, *lines[:-1]]),
        fix=f"write {meant!r}" if meant else lines[-1],
        meant=suggest.did_you_mean(meant),
        nearest=() if error.meant is None else (error.meant,),
    )


def _place(subject: Subject, pattern: str | None) -> Path:
    """Where a pattern is written; the groups themselves, if it is written nowhere."""
    place: Path = ("optimizer",)
    for number in subject.places.order:
        node = subject.graph.nodes[number]
        if node.callable is None or node.callable.name != BY_PATH:
            continue
        place = (*subject.places.path(number), GROUPS)
        groups = node.argument(GROUPS)
        held = None if groups is None else subject.graph.node(groups.value)
        key = paths.of_dict_key(pattern)
        if held is not None and key in [argument.key for argument in held.arguments]:
            return (*place, key)
    return place
