"""What cannot be written as code: collected with its paths, then told all at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from fdlkit.errors import UserError
from fdlkit.graph import paths
from fdlkit.graph.built import Built
from fdlkit.graph.places import Places

# Of what is wrong in many places, how many are listed.
_SHOWN = 20


class UnwritableError(Exception):
    """A value that no code can be written for.

    Attributes:
      why: What it is: `a lambda that ...`.
      remedy: What to do about it.
    """

    def __init__(self, why: str, remedy: str):
        super().__init__(why)
        self.why = why
        self.remedy = remedy


@dataclasses.dataclass(frozen=True)
class Refusal:
    """One place of a config that no code can be written for.

    Attributes:
      node: The node that holds it, counted as a reader meets them.
      path: Where it is.
      why: What it is.
      remedy: What to do about it.
    """

    node: int
    path: paths.Path
    why: str
    remedy: str

    def lines(self) -> tuple[str, str]:
        """Where and what; what to do."""
        return f"  {paths.brief(self.path)}: {self.why}", f"    {self.remedy}"


class Refusals:
    """Collects refusals while a config is gone through."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._found: list[Refusal] = []
        self._wholes: list[paths.Path] = []
        self._ranks: dict[int, int] | None = None

    def add(
        self, node: int | None, key: paths.PathKey | None, error: UnwritableError
    ) -> None:
        """Notes what cannot be written: at a key of a node, or the node itself."""
        path = () if node is None else self._places.path(node)
        if key is not None:
            path = (*path, key)
        if not any(path[: len(whole)] == whole for whole in self._wholes):
            self._found.append(Refusal(self._rank(node), path, error.why, error.remedy))

    def add_built(self, built: Iterable[Built]) -> None:
        """Notes built objects; of what is inside them nothing more is told."""
        for one in built:
            self._wholes.append(one.path)
            why = f"{one.what} ({one.type})"
            self._found.append(Refusal(0, one.path, why, f"write {one.instead}"))

    def _rank(self, node: int | None) -> int:
        if self._ranks is None:
            order = self._places.order
            self._ranks = {number: rank for rank, number in enumerate(order)}
        return -1 if node is None else self._ranks.get(node, len(self._ranks))

    def raise_if_any(self, style: str) -> None:
        """Ends the writing.

        Raises:
          UserError: There are refusals; all of them are in it.
        """
        found = list({(one.path, one.why): one for one in self._found}.values())
        found.sort(key=lambda one: one.node)
        if not found:
            return
        lines = [line for one in found[:_SHOWN] for line in one.lines()]
        if len(found) > _SHOWN:
            lines.append(f"  and {len(found) - _SHOWN:,} more")
        count = f"{len(found)} values" if len(found) > 1 else "a value"
        raise UserError(
            f"{count} of this config cannot be written as code of the style '{style}'",
            *lines,
        )
