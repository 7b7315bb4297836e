"""Which element of a new sequence continues which of an old one."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Hashable, Sequence

# Changes in one stretch that are looked for exactly; beyond it, elements are paired
# by their order.
_MOST_CHANGES = 96

# Pairs of elements in one stretch that are compared for likeness.
_MOST_PAIRS = 900

_Likeness = Callable[[int, int], float]


def align(
    old: Sequence[Hashable],
    new: Sequence[Hashable],
    likeness: _Likeness,
    at_least: _Likeness,
) -> list[int | None]:
    """For each new element the index of the old one that it continues, or None.

    Equal elements are found first, in their order and then out of it; what is left
    over between them is paired by likeness. Costs about as much as there are elements.

    Args:
      old: The old elements, equal where these are.
      new: The new elements.
      likeness: How alike the old element i and the new element j are, 0 to 1.
      at_least: As much of it as is seen at a glance; asked first, for it costs less.
    """
    start, most = 0, min(len(old), len(new))
    while start < most and old[start] == new[start]:
        start += 1
    end = 0
    while end < most - start and old[-1 - end] == new[-1 - end]:
        end += 1
    found: list[int | None] = [None] * len(new)
    found[:start] = range(start)
    for n in range(1, end + 1):
        found[len(new) - n] = len(old) - n
    rest_old, rest_new = range(start, len(old) - end), range(start, len(new) - end)
    if not rest_old or not rest_new:
        return found
    # The stretches between unique elements that kept their order.
    gaps = []
    at_old, at_new = rest_old.start, rest_new.start
    for i, j in [*_anchors(old, new, rest_old, rest_new), (rest_old.stop, -1)]:
        j = rest_new.stop if j < 0 else j
        gaps.append((range(at_old, i), range(at_new, j)))
        if j < rest_new.stop:
            found[j] = i
        at_old, at_new = i + 1, j + 1
    for olds, news in gaps:
        for i, j in _common(old, new, olds, news):
            found[j] = i
    used = {i for i in found if i is not None}
    _moves(old, new, found, used)
    for olds, news in gaps:
        left_old = [i for i in olds if i not in used]
        left_new = [j for j in news if found[j] is None]
        for i, j in _alike(left_old, left_new, likeness, at_least):
            found[j] = i
    return found


def in_order(indices: Sequence[int]) -> set[int]:
    """The longest part of some different numbers that goes up."""
    if sorted(indices) == list(indices):
        return set(indices)
    ends: list[int] = []
    at: list[int] = []
    before: list[int] = []
    for place, index in enumerate(indices):
        length = bisect.bisect_left(ends, index)
        before.append(at[length - 1] if length else -1)
        ends[length : length + 1] = [index]
        at[length : length + 1] = [place]
    kept = set()
    place = at[-1] if at else -1
    while place >= 0:
        kept.add(indices[place])
        place = before[place]
    return kept


def _anchors(
    old: Sequence[Hashable], new: Sequence[Hashable], olds: range, news: range
) -> list[tuple[int, int]]:
    """Elements that are there once on both sides, and in the same order."""
    there = _unique(old, olds)
    pairs = [(there[e], j) for e, j in _unique(new, news).items() if e in there]
    kept = in_order([i for i, _ in pairs])
    return [(i, j) for i, j in pairs if i in kept]


def _unique(elements: Sequence[Hashable], indices: range) -> dict[Hashable, int]:
    found: dict[Hashable, int] = {}
    twice = set()
    for index in indices:
        if elements[index] in found:
            twice.add(elements[index])
        found.setdefault(elements[index], index)
    return {e: index for e, index in found.items() if e not in twice}


def _common(
    old: Sequence[Hashable], new: Sequence[Hashable], olds: range, news: range
) -> list[tuple[int, int]]:
    """The longest common part of two stretches, within bounds.

    Of several that are as long, the one in which elements keep their places.
    """
    pairs = _longest(old, new, olds, news)
    if len(olds) == len(news):
        steady = [(i, j) for i, j in zip(olds, news, strict=True) if old[i] == new[j]]
        if len(steady) >= len(pairs):
            return steady
    return pairs


def _longest(
    old: Sequence[Hashable], new: Sequence[Hashable], olds: range, news: range
) -> list[tuple[int, int]]:
    """The longest common part, by Myers' method; its end if that takes too long."""
    end = []
    while olds and news and old[olds[-1]] == new[news[-1]]:
        end.append((olds[-1], news[-1]))
        olds, news = olds[:-1], news[:-1]
    if not olds or not news:
        return end[::-1]
    reach = {1: 0}
    trace: list[dict[int, int]] = []
    for changes in range(min(len(olds) + len(news), _MOST_CHANGES) + 1):
        trace.append(dict(reach))
        for diagonal in range(-changes, changes + 1, 2):
            x, _ = _furthest(reach, diagonal, changes)
            y = x - diagonal
            while x < len(olds) and y < len(news) and old[olds[x]] == new[news[y]]:
                x, y = x + 1, y + 1
            reach[diagonal] = x
            if x >= len(olds) and y >= len(news):
                return _walk_back(trace, olds, news) + end[::-1]
    return end[::-1]


def _furthest(reach: dict[int, int], diagonal: int, changes: int) -> tuple[int, bool]:
    """How far the next change leads on a diagonal, and whether it is an insertion."""
    down, right = reach.get(diagonal + 1, -1), reach.get(diagonal - 1, -1) + 1
    if diagonal == -changes or (diagonal != changes and right <= down):
        return down, True
    return right, False


def _walk_back(
    trace: list[dict[int, int]], olds: range, news: range
) -> list[tuple[int, int]]:
    pairs = []
    x, y = len(olds), len(news)
    for changes in range(len(trace) - 1, -1, -1):
        diagonal = x - y
        begun, is_insertion = _furthest(trace[changes], diagonal, changes)
        while x > begun and y > begun - diagonal:
            x, y = x - 1, y - 1
            pairs.append((olds[x], news[y]))
        x, y = (x, y - 1) if is_insertion else (x - 1, y)
    return pairs[::-1]


def _moves(
    old: Sequence[Hashable],
    new: Sequence[Hashable],
    found: list[int | None],
    used: set[int],
) -> None:
    """Pairs equal elements that are out of order, the first with the first."""
    left: dict[Hashable, list[int]] = {}
    for i in range(len(old) - 1, -1, -1):
        if i not in used:
            left.setdefault(old[i], []).append(i)
    for j, element in enumerate(new):
        if found[j] is None and left.get(element):
            found[j] = left[element].pop()
            used.add(found[j] or 0)


def _alike(
    olds: list[int], news: list[int], likeness: _Likeness, at_least: _Likeness
) -> list[tuple[int, int]]:
    """Pairs what is left of a stretch so that the likeness of all is the greatest."""
    if not olds or not news:
        return []
    in_turn = list(zip(olds, news, strict=False))
    if len(olds) == 1 == len(news) or len(olds) * len(news) > _MOST_PAIRS:
        return in_turn
    # Pairing as many in any other way leaves one over on either side, so that all the
    # rest cannot come to more than this.
    enough = len(in_turn) - 1
    if len(olds) == len(news) and sum(at_least(*pair) for pair in in_turn) >= enough:
        return in_turn
    width = len(news)
    best = [[0.0] * (width + 1) for _ in range(len(olds) + 1)]
    for n, i in reversed(list(enumerate(olds))):
        row, below = best[n], best[n + 1]
        for m in range(width - 1, -1, -1):
            pair = likeness(i, news[m]) + below[m + 1]
            row[m] = max(pair, below[m], row[m + 1])
    pairs = []
    n = m = 0
    while n < len(olds) and m < width:
        if best[n][m] == best[n + 1][m]:
            n += 1
        elif best[n][m] == best[n][m + 1]:
            m += 1
        else:
            pairs.append((olds[n], news[m]))
            n, m = n + 1, m + 1
    return pairs
