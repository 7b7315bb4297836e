"""What of two nodes stands in one place, and where the rest of the old one would be."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Collection, Hashable, Mapping

from fdlkit.diff.classes import exact_key
from fdlkit.diff.matching import elements
from fdlkit.graph.model import Node


@dataclasses.dataclass(frozen=True, slots=True)
class Anchors:
    """The arguments and elements of a node, as they were and as they are.

    Attributes:
      old_of: For each element of the new node the key of the old one that it is.
      before: For each old key the row before which it would stand.
    """

    old_of: Mapping[Hashable, Hashable]
    before: Mapping[Hashable, int]


def anchors(
    old: Node,
    new: Node,
    gone: Collection[Hashable],
    put: Collection[Hashable],
    rows: Mapping[Hashable, tuple[int, int]],
    first: int,
) -> Anchors:
    """Finds them.

    Args:
      old: The old node.
      new: What it is now.
      gone: The old indices of elements that are no longer among its elements.
      put: The new indices of elements that were not.
      rows: For each new key its row, and the one behind all that is in it.
      first: Where the rows of the node begin.
    """
    old_of = _stayed(old, new, gone, put)
    new_of = {was: now for now, was in old_of.items()}
    in_row = {argument.key for argument in elements(old)}
    before: dict[Hashable, int] = {}
    at = first
    for argument in old.arguments:
        key = exact_key(argument.key)
        is_element = bool(old_of) and argument.key in in_row
        there = rows.get(new_of.get(key) if is_element else key)
        before[key] = at if there is None else there[0]
        at = at if there is None else max(at, there[1])
    return Anchors(old_of, before)


def _stayed(
    old: Node, new: Node, gone: Collection[Hashable], put: Collection[Hashable]
) -> dict[Hashable, Hashable]:
    """Elements keep their order, but for those that came, went and moved."""
    was, now = ([a.key for a in elements(node)] for node in (old, new))
    if was != list(range(len(was))) or now != list(range(len(now))):
        return {}  # positional arguments with gaps have no order to keep
    stay = deque(key for key in was if key not in gone)
    return {key: stay.popleft() for key in now if key not in put and stay}
