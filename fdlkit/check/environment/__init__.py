"""Level `environment`: whether this machine and its settings can carry the run."""

from __future__ import annotations

from collections.abc import Iterator

from fdlkit.check.environment import compilers, folders, profiles
from fdlkit.check.findings import Finding
from fdlkit.check.subject import Subject

_PARTS = (compilers, profiles, folders)


def find(subject: Subject) -> Iterator[Finding]:
    """What the level has to say."""
    for part in _PARTS:
        yield from part.find(subject)
