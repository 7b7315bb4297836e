"""One change to a text."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Edit:
    """Puts `text` in the place of `[start, end)` of a module's text."""

    start: int
    end: int
    text: str
