"""What it would cost to hash the immutable values of a file, before anyone does.

A tuple's hash is that of all that is in it, as often as it is in there: of a diamond of
sixty tuples it would never end, and of a million levels Python would not survive it.
A frozenset remembers its own.
"""

from __future__ import annotations

from fdlkit.graph.model import Link, Node

_MOST = 100_000
_LEVELS = 2000


class Hashes:
    """Sizes and depths of nodes, each added after what is below it."""

    def __init__(self) -> None:
        self._of: dict[int, tuple[int, int]] = {}

    def add(self, number: int, node: Node) -> None:
        """Remembers a node."""
        if node.kind == "frozenset":
            self._of[number] = 1, 1
            return
        below = [
            self._of.get(argument.value.node, (1, 1))
            for argument in node.arguments
            if isinstance(argument.value, Link)
        ]
        size = len(node.arguments) + sum(size for size, _ in below)
        levels = 1 + max((levels for _, levels in below), default=0)
        self._of[number] = min(size, _MOST + 1), levels

    def is_cheap(self, number: int) -> bool:
        """Whether a value may be an element of a set."""
        size, levels = self._of[number]
        return size <= _MOST and levels <= _LEVELS
