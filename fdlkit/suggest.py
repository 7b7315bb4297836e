"""What was probably meant: the one engine behind every "did you mean".

Words are fields, flags, verbs, config names, fiddlers, callables, tags, key paths,
mesh axes. Two words are compared as people mistype them: letters swapped, doubled,
dropped or wrong, underscores and case forgotten, a word cut short or abbreviated.
Dotted words are compared a segment at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

# The unlikeness from which two words are strangers: the share of a word that is wrong.
STRANGERS = 0.5


def nearest(word: str, candidates: Iterable[str], n: int = 3) -> list[str]:
    """The at most `n` candidates that `word` may have meant, likeliest first."""
    scored = [(unlikeness(word, c), len(c), c) for c in dict.fromkeys(candidates)]
    return [c for score, _, c in sorted(scored) if score < STRANGERS][:n]


def hint(word: str, candidates: Iterable[str]) -> str | None:
    """`did you mean 'hidden'?` for the likeliest candidate, None if none is near."""
    return did_you_mean(next(iter(nearest(word, candidates, n=1)), None))


def did_you_mean(name: str | None) -> str | None:
    """The phrase itself, for callers that already know the name."""
    return None if name is None else f"did you mean '{name}'?"


def misplaced(path: str, paths: Iterable[str], n: int = 3) -> list[str]:
    """Full paths that `path` may have meant when its nesting was forgotten.

    `hidden` finds `model.hidden`, `mlp.wdth` finds `model.block.mlp.width`: the last
    segments must fit, exact names come before near ones, shallow before deep ones.
    """
    wanted = path.split(".")
    scores: dict[tuple[str, ...], float] = {}  # the same few names end many paths
    scored = []
    for candidate in dict.fromkeys(paths):
        segments = candidate.split(".")
        tail = tuple(segments[-len(wanted) :])
        if len(tail) < len(wanted):
            continue
        if tail not in scores:
            scores[tail] = _segments_unlikeness(wanted, tail)
        scored.append((scores[tail], len(segments), len(candidate), candidate))
    return [p for score, *_, p in sorted(scored) if score < STRANGERS][:n]


def unlikeness(word: str, candidate: str) -> float:
    """0 for the same word, 0.5 and more for strangers."""
    if "." in word and "." in candidate:
        left, right = word.split("."), candidate.split(".")
        if len(left) == len(right):
            return _segments_unlikeness(left, right)
    return _word_unlikeness(word, candidate)


def _segments_unlikeness(left: Sequence[str], right: Sequence[str]) -> float:
    """One stranger among the segments makes strangers of the paths."""
    scores = [_word_unlikeness(a, b) for a, b in zip(left, right, strict=True)]
    worst = max(scores)
    return worst if worst >= STRANGERS else sum(scores) / len(scores)


def _word_unlikeness(word: str, candidate: str) -> float:
    if word == candidate:
        return 0.0
    a, b = _plain(word), _plain(candidate)
    if a == b:
        return 0.05
    if not a or not b:
        return 1.0
    score = _edits(a, b) / max(len(a), len(b))
    if a[0] != b[0]:  # the first letter is the one that is seldom mistyped
        score += 0.05
    if len(a) >= 2:
        parts = _parts(candidate)
        given = _parts(word)
        if len(given) >= 2 and _has_in_order(given, parts):  # a part was left out
            score = min(score, 0.1 + 0.2 * (1 - len(a) / len(b)))
        if b.startswith(a):  # cut short; the less is missing, the likelier
            score = min(score, 0.1 + 0.2 * (1 - len(a) / len(b)))
        elif a in parts or word.lower() == "".join(part[:1] for part in parts):
            score = min(score, 0.35)
        elif len(b) >= 3 and a.startswith(b):  # something was added to it
            score = min(score, 0.2 + 0.4 * (1 - len(b) / len(a)))
        elif a[0] == b[0] and a[-1] == b[-1] and _has_in_order(a, b):
            score = min(score, 0.4)  # abbreviated: bf16
    return score


def _has_in_order(few: Iterable[str], many: Iterable[str]) -> bool:
    """Whether the letters (or the parts) of one are among the other's, in order."""
    rest = iter(many)
    return all(one in rest for one in few)


def _parts(word: str) -> list[str]:
    return word.lower().replace("-", "_").split("_")


def _plain(word: str) -> str:
    return word.lower().replace("_", "").replace("-", "")


def _edits(a: str, b: str) -> int:
    """Insertions, deletions, substitutions and swaps of neighbours from a to b."""
    before, previous = [0] * (len(b) + 1), list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        current = [i]
        for j, y in enumerate(b, 1):
            cost = min(previous[j] + 1, current[-1] + 1, previous[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, before[j - 2] + 1)
            current.append(cost)
        before, previous = previous, current
    return previous[-1]
