"""A config that cannot be built for another reason than what is missing in it."""

from __future__ import annotations

from collections.abc import Iterator

from fdlkit.check.findings import Finding
from fdlkit.check.subject import Subject
from fdlkit.graph.build import BuildError


def find(subject: Subject) -> Iterator[Finding]:
    """What a constructor raised.

    What else a build refuses (required arguments, references, traps) is found before.
    """
    error = subject.build_error
    if isinstance(error, BuildError):
        first, *more = error.lines
        yield subject.finding(
            "CF002",
            error.path,
            "\n".join([first, *(line.strip() for line in more)]),
            fix="give it arguments that it takes, as the message says",
        )
