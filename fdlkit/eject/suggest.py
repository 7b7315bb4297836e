"""What was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def hint(word: str, candidates: Iterable[str]) -> str | None:
    """`did you mean 'hidden'?` for the likeliest candidate, None if none is near."""
    near = difflib.get_close_matches(word, list(candidates), n=1)
    return f"did you mean '{near[0]}'?" if near else None
