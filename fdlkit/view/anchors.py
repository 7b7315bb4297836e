"""Where in a new drawing the rows belong that only the old one has."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Hashable, Mapping, Sequence

from fdlkit.diff.classes import exact_key
from fdlkit.diff.matching import elements
from fdlkit.graph.model import Node
from fdlkit.graph.paths import PathKey


def anchors(
    old: Node,
    new: Node,
    gone: Collection[Hashable],
    put: Collection[Hashable],
    rows: Mapping[Hashable, int],
    ends: Mapping[Hashable, int],
    *,
    first: int,
) -> dict[Hashable, int]:
    """For each old argument or element the row before which it would stand.

    Args:
      old: The old node.
      new: What it is now.
      gone: The old keys of elements that are no longer among its elements.
      put: The new keys of elements that were not.
      rows: Where each new key has its row.
      ends: The row behind it and all that is in it.
      first: Where the rows of the node begin.
    """
    is_row = [exact_key(a.key) for a in elements(old)]
    stay = deque(key for key in is_row if key not in gone)
    now: dict[Hashable, Hashable] = {}
    for argument in elements(new):
        key = exact_key(argument.key)
        if key not in put and stay:
            now[stay.popleft()] = key
    named: Sequence[PathKey] = [a.key for a in old.arguments]
    found: dict[Hashable, int] = {}
    at = first
    for key in map(exact_key, named):
        there = now.get(key) if key in now or key in gone else key
        if there in rows:
            found[key] = rows[there]
            at = max(at, ends[there])
        else:
            found[key] = at
    return found
