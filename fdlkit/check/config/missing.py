"""Required arguments that are not set."""

from __future__ import annotations

from collections.abc import Iterator

from fdlkit.check.findings import Finding
from fdlkit.check.subject import Subject
from fdlkit.graph import paths
from fdlkit.graph.missing import find_missing


def find(subject: Subject) -> Iterator[Finding]:
    """Each of them."""
    for one in find_missing(subject.graph, subject.places):
        where = paths.format(one.path)
        yield subject.finding(
            "CF001",
            one.path,
            f"{paths.brief(one.path)}{one.what} is required and not set",
            fix=f"set it in the config, or with --fdl_set={where}=VALUE",
        )
