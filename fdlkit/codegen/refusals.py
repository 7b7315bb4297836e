"""What cannot be written as code: collected with its paths, then told all at once."""

from __future__ import annotations

import dataclasses

from fdlkit.errors import UserError
from fdlkit.graph import paths
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
    """One place of a config that no code can be written for."""

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

    def add(
        self, node: int | None, key: paths.PathKey | None, error: UnwritableError
    ) -> None:
        """Notes what cannot be written: at a key of a node, or the node itself."""
        path = () if node is None else self._places.path(node)
        if key is not None:
            path = (*path, key)
        self._found.append(Refusal(path, error.why, error.remedy))

    def raise_if_any(self, style: str) -> None:
        """Ends the writing.

        Raises:
          UserError: There are refusals; all of them are in it.
        """
        found = list({(one.path, one.why): one for one in self._found}.values())
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
