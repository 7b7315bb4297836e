"""After which steps something happens."""

from __future__ import annotations

import bisect
import dataclasses
from collections.abc import Sequence


@dataclasses.dataclass(frozen=True, kw_only=True)
class Occasions:
    """Steps after which something happens, one of which is due next.

    Attributes:
      every: Steps between two of them; None: none but those below.
      at: Single steps besides.
      last: Whether the last step of the run is one.
    """

    every: int | None = None
    at: Sequence[int] = ()
    last: bool = True

    def __post_init__(self) -> None:
        if self.every is not None and self.every < 1:
            raise ValueError(f"every={self.every}: it counts steps, so at least 1")
        wrong = [step for step in self.at if step < 1]
        if wrong:
            raise ValueError(
                f"at={list(self.at)}: steps count from 1, {wrong[0]} is none"
            )
        if self.every is None and not self.at and not self.last:
            raise ValueError(
                "every=None, at=() and last=False: it never happens; "
                "give every=N steps, or last=True"
            )

    def is_due(self, step: int, *, is_last: bool = False) -> bool:
        """Whether it happens after this step."""
        if step < 1:
            return False
        periodic = self.every is not None and step % self.every == 0
        return periodic or step in self.at or (self.last and is_last)

    def next_after(self, step: int) -> int | None:
        """The next step after which it happens, the run's last one aside; or None."""
        later = [min((one for one in self.at if one > step), default=None)]
        if self.every is not None:
            later.append((step // self.every + 1) * self.every)
        return min((one for one in later if one is not None), default=None)

    def times_before(self, step: int) -> int:
        """How often it happened before this step, as if it had always been so."""
        before = max(step - 1, 0)
        single = sorted(set(self.at))
        if self.every is None:
            return bisect.bisect_right(single, before)
        others = [one for one in single if one % self.every]
        return before // self.every + bisect.bisect_right(others, before)
