"""Which key path was likely meant by one that leads nowhere.

All places of a context are compared with what was typed, a part at a time, as `suggest`
compares words. Beside misspelt parts there are those that were forgotten (`logits` for
`preds.logits`), too many (`preds.logits` where `preds` is an array), in the wrong order
(`logits.preds`), and a wrong part before others that are right (`model.logits`).
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

from fdlkit.suggest import STRANGERS, unlikeness

KeyParts = Sequence[str | int]

# What stands for a part too few, for one too many and for two that are swapped, beside
# the unlikeness of words (0 for the same, 0.5 for strangers).
_FORGOTTEN = 0.2
_TOO_MANY = 0.45
_SWAPPED = 0.15
_OTHER_INDEX = 0.3
_WRONG_BEFORE_RIGHT = 0.6
# Places that are looked at; a context with more of them is seldom misspelt so deep.
_MOST_PLACES = 20_000


def likeliest_key(context: Mapping[str, Any], parts: KeyParts) -> str | None:
    """The key path of the place that was likely meant; None if none is near.

    Args:
      context: Where the places are.
      parts: What was typed, a part each.
    """
    best: tuple[float, int, str] | None = None
    words: dict[tuple[str | int, str | int], float] = {}
    for place, is_leaf in all_places(context).items():
        if len(place) < len(parts) and not is_leaf:
            continue  # what was typed is below it, and is not there
        cost = _cost(parts, place, words)
        if cost is not None:
            scored = (cost, len(place), spelled_key(place))
            best = scored if best is None else min(best, scored)
    return None if best is None else best[2]


def all_places(context: Mapping[str, Any]) -> dict[tuple[str | int, ...], bool]:
    """The places in a context, each by its parts; shallow ones first.

    Returns:
      For each place, whether nothing is below it.
    """
    found: dict[tuple[str | int, ...], bool] = {}
    level: list[tuple[tuple[str | int, ...], Any]] = [((), context)]
    while level and len(found) < _MOST_PLACES:
        deeper: list[tuple[tuple[str | int, ...], Any]] = []
        for path, value in level:
            inside = names_below(value)
            found[path] = not inside
            deeper.extend(((*path, part), held) for part, held in inside.items())
        level = deeper
    found.pop(())
    return found


def names_below(value: Any) -> Mapping[str | int, Any]:
    """What a part of a key path can name in a value: names or indices."""
    if isinstance(value, Mapping):
        return value
    names = getattr(type(value), "_fields", None)
    if names is None and dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
    if names is not None:
        return {name: getattr(value, name) for name in names if hasattr(value, name)}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return dict(enumerate(value))
    return {}


def spelled_key(parts: KeyParts) -> str:
    """`("preds", "aux", 0)` as `preds.aux[0]`."""
    text = ""
    for part in parts:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part.isidentifier():
            text += f".{part}"
        else:
            text += f"[{part!r}]"
    return text.removeprefix(".")


def typed_parts(text: str) -> tuple[str | int, ...]:
    """The parts of a key path that was written as other paths are: `preds/aux/0`."""
    words = re.findall(r"[^\s./\[\]'\"]+", text)
    return tuple(int(w) if re.fullmatch(r"-?\d{1,18}", w) else w for w in words)


def _cost(
    typed: KeyParts, place: KeyParts, words: dict[tuple[str | int, str | int], float]
) -> float | None:
    """How unlike a place is to what was typed; None for strangers."""
    swapped = _swapped(typed, place, words)
    costs = [] if swapped is None else [swapped]
    aligned = _aligned(typed, place, words)
    if aligned is not None:
        costs.append(aligned)
    if len(typed) == len(place) > 1 and typed[-1] == place[-1]:
        wrong = [a for a, b in zip(typed, place, strict=True) if a != b]
        if len(wrong) == 1:
            costs.append(_WRONG_BEFORE_RIGHT / len(place))
    return min(costs, default=None)


def _aligned(
    typed: KeyParts, place: KeyParts, words: dict[tuple[str | int, str | int], float]
) -> float | None:
    """The cost where parts are misspelt, and either forgotten or too many."""
    few, many = sorted((typed, place), key=len)
    step = _FORGOTTEN if few is typed else _TOO_MANY
    extra = len(many) - len(few)
    if extra and extra >= len(many):
        return None
    # costs[j]: of the first parts of `few` within the first j of `many`.
    costs: list[float | None] = [step * j for j in range(extra + 1)]
    for i, part in enumerate(few):
        row: list[float | None] = []
        for skipped in range(extra + 1):
            other = many[i + skipped]
            pair = (part, other) if few is typed else (other, part)
            word = _word(*pair, words)
            before = costs[skipped]
            options = [] if word is None or before is None else [before + word]
            if skipped and (left := row[skipped - 1]) is not None:
                options.append(left + step)
            row.append(min(options, default=None))
        costs = row
    total = costs[extra]
    return None if total is None else total / len(many)


def _swapped(
    typed: KeyParts, place: KeyParts, words: dict[tuple[str | int, str | int], float]
) -> float | None:
    """The cost where two parts changed places."""
    if len(typed) != len(place):
        return None
    least: float | None = None
    for i, j in itertools.combinations(range(len(typed)), 2):
        turned = list(typed)
        turned[i], turned[j] = typed[j], typed[i]
        pairs = [_word(a, b, words) for a, b in zip(turned, place, strict=True)]
        near = [cost for cost in pairs if cost is not None]
        if len(near) == len(pairs):
            cost = (_SWAPPED + sum(near)) / len(place)
            least = cost if least is None else min(least, cost)
    return least


def _word(
    typed: str | int, there: str | int, words: dict[tuple[str | int, str | int], float]
) -> float | None:
    """How unlike two parts are; None for strangers."""
    pair = (typed, there)
    if pair not in words:
        if typed == there:
            words[pair] = 0.0
        elif isinstance(typed, int) and isinstance(there, int):
            words[pair] = _OTHER_INDEX + min(abs(typed - there), 100) / 1000
        elif isinstance(typed, int) or isinstance(there, int):
            words[pair] = 1.0
        else:
            words[pair] = unlikeness(typed, there)
    cost = words[pair]
    return cost if cost < STRANGERS else None
