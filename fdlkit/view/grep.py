"""The rows of a tree that match a pattern, with the way to each."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from fdlkit.view.tree import Row, line

_STEP = 3  # how wide one level of guides is


def grep(rows: Sequence[Row], pattern: re.Pattern[str]) -> list[Row]:
    """The rows that match, and those above them; none if no row matches.

    A row matches by its line as it is shown, or by its path, where the match has to
    reach the row's own name: `layers` does not match everything inside `layers`.

    Args:
      rows: All rows of a tree, first to last.
      pattern: What is looked for.

    Returns:
      The rows that are kept, their guides drawn anew. `is_hit` tells those that match.
    """
    above: list[int] = []  # the row before this one at each level
    parents: list[int] = []
    kept: dict[int, bool] = {}
    for number, row in enumerate(rows):
        level = len(row.guides) // _STEP
        del above[level:]
        parents.append(above[-1] if above else -1)
        above.append(number)
        own = len(rows[parents[-1]].path) if level > 1 else 0
        if _matches(row, own, pattern):
            kept[number] = True
            parent = parents[number]
            while parent >= 0 and parent not in kept:
                kept[parent] = False
                parent = parents[parent]
    return _redrawn(rows, parents, kept)


def _matches(row: Row, own: int, pattern: re.Pattern[str]) -> bool:
    if pattern.search(line(row)):
        return True
    return any(match.end() > own for match in pattern.finditer(row.path))


def _redrawn(
    rows: Sequence[Row], parents: list[int], kept: dict[int, bool]
) -> list[Row]:
    """The kept rows with guides that know nothing of those that are gone."""
    last: dict[int, int] = {}  # the last kept row below each kept one
    for number in sorted(kept):
        last[parents[number]] = number
    below: dict[int, str] = {-1: ""}  # the guides down past each row
    drawn = []
    for number in sorted(kept):
        parent = parents[number]
        is_last = last[parent] == number
        guides = ""
        if parent >= 0:
            guides = below[parent] + ("└─ " if is_last else "├─ ")
            below[number] = below[parent] + ("   " if is_last else "│  ")
        else:
            below[number] = ""
        drawn.append(
            dataclasses.replace(rows[number], guides=guides, is_hit=kept[number])
        )
    return drawn
