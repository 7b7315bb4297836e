"""Level `config`: what is wrong with a config by itself, whatever it builds."""

from __future__ import annotations

from collections.abc import Iterator

from fdlkit.check.config import (
    constants,
    dead,
    evaluators,
    missing,
    rates,
    references,
    sharing,
    splits,
    traps,
    tying,
    unbuildable,
    value_types,
)
from fdlkit.check.findings import Finding
from fdlkit.check.subject import Subject

_PARTS = (
    missing,
    value_types,
    references,
    traps,
    unbuildable,
    sharing,
    tying,
    splits,
    evaluators,
    rates,
    dead,
    constants,
)


def find(subject: Subject) -> Iterator[Finding]:
    """What the level has to say."""
    has_error = False
    for part in _PARTS:
        for finding in part.find(subject):
            has_error = has_error or finding.severity == "error"
            yield finding
    if subject.build_error is not None and not has_error:
        first, *more = subject.build_error.lines
        yield subject.finding(
            "CF002",
            (),
            "\n".join([first, *(line.strip() for line in more)]),
            fix="as the message says",
        )
