"""Which documents of a corpus are held out."""

from __future__ import annotations

from collections.abc import Sequence

from fdlkit.data.corpus import Split, unit_hash


def files_of_split(
    names: Sequence[str], *, split: Split, eval_fraction: float
) -> list[str]:
    """The names that belong to `split`, sorted.

    A name is held out if its hash, a number in [0, 1), is below `eval_fraction`: a
    file stays on its side when others come or go. Of two files or more, neither
    side is left empty (unless the fraction is 0 or 1): the nearest file moves over.
    """
    ranked = sorted(names, key=unit_hash)
    held_out = sum(unit_hash(name) < eval_fraction for name in names)
    if 0 < eval_fraction < 1:
        held_out = min(max(held_out, 1), len(ranked) - 1)
    return sorted(ranked[:held_out] if split == "eval" else ranked[held_out:])
