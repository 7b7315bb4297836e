"""Patterns over the paths of parameters: `layers/block/**/kernel`."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Sequence

from fdlkit import suggest
from fdlkit.errors import UserError

# Of a list of paths in a message.
_MOST_PATHS = 8


class PatternError(UserError):
    """A pattern that cannot be used, or a parameter that has none.

    Attributes:
      pattern: The pattern; None where a parameter has none.
      meant: The pattern that was likely meant; None if there is no guess.
    """

    def __init__(self, pattern: str | None, meant: str | None, what: str, *lines: str):
        super().__init__(what, *lines)
        self.pattern = pattern
        self.meant = meant


def matches(pattern: str, path: str) -> bool:
    """Whether a pattern is one of a path.

    Args:
      pattern: A path in which `**` stands for any number of names (none among them),
        and `*`, `?` and `[ab]` for letters of one name, as in a shell.
      path: A parameter's: `layers/block/mlp/up/kernel`.
    """
    return _fits(pattern.split("/"), path.split("/"))


def is_within(pattern: str, other: str) -> bool:
    """Whether every path that `pattern` matches is one that `other` matches.

    It is told by the patterns alone, whatever paths there are. Of patterns that say
    the same in two ways (`*/**` and `**/*`) neither counts as within the other.
    """
    return _fits(other.split("/"), pattern.split("/"))


def _fits(pattern: Sequence[str], names: Sequence[str]) -> bool:
    """Whether a pattern's names stand for names, which may have wildcards too."""
    # Which first parts of the names the pattern stands for, as far as it was read.
    reached = {0}
    for part in pattern:
        if part == "**":
            reached = set(range(min(reached), len(names) + 1)) if reached else reached
        else:
            reached = {
                n + 1 for n in reached if n < len(names) and _stands_for(part, names[n])
            }
    return len(names) in reached


def _stands_for(part: str, name: str) -> bool:
    if name == "**":
        return False  # it may be several
    return part in ("*", name) or (
        not _has_wildcards(name) and fnmatch.fnmatchcase(name, part)
    )


def _has_wildcards(name: str) -> bool:
    return any(letter in name for letter in "*?[")


def assigned(patterns: Iterable[str], paths: Sequence[str]) -> dict[str, str]:
    """The pattern of each path: of those that match it, the narrowest.

    That is the one which is within each of the others. The order in which patterns
    stand does not count: in a dict of a config it says nothing.

    Args:
      patterns: As `matches` takes them.
      paths: All parameters of a model.

    Raises:
      PatternError: A pattern that matches no path, or none for which there is no
        narrower one; a path that no pattern matches, or several of which none is
        within the others.
    """
    known = list(patterns)
    for pattern in known:
        if not any(matches(pattern, path) for path in paths):
            raise _matches_nothing(pattern, paths)
    found = {path: _narrowest(path, known, paths) for path in paths}
    for pattern in known:
        if pattern not in found.values():
            raise PatternError(
                pattern,
                None,
                f"the pattern {pattern!r} is left with no parameter: a narrower one "
                "matches each that it does",
                f"patterns: {', '.join(map(repr, known))}",
                "leave it out",
            )
    return found


def _narrowest(path: str, patterns: Sequence[str], paths: Sequence[str]) -> str:
    fitting = [pattern for pattern in patterns if matches(pattern, path)]
    if not fitting:
        bare = [p for p in paths if not any(matches(q, p) for q in patterns)]
        raise PatternError(
            None,
            "**",
            f"no pattern matches {_so_many(bare)}: {_listed(bare)}",
            f"patterns: {', '.join(map(repr, patterns)) or 'none'}",
            "say what is to become of the rest: '**' matches what no narrower pattern "
            "does",
        )
    for pattern in fitting:
        others = [other for other in fitting if other != pattern]
        if all(is_within(pattern, other) for other in others):
            return pattern
    least = [
        pattern
        for pattern in fitting
        if not any(q != pattern and is_within(q, pattern) for q in fitting)
    ]
    raise PatternError(
        least[0],
        None,
        f"{' and '.join(map(repr, least))} both match the parameter {path}, and "
        "neither pattern is within the other",
        f"say which it is by a narrower one, such as {path!r}",
    )


def _matches_nothing(pattern: str, paths: Sequence[str]) -> PatternError:
    meant = next(
        (guess for guess in _guesses(pattern, paths) if _is_new(guess, pattern, paths)),
        None,
    )
    hint = suggest.did_you_mean(meant)
    return PatternError(
        pattern,
        meant,
        f"the pattern {pattern!r} matches no parameter",
        *([hint] if hint else []),
        f"there are {_so_many(paths)}: {_listed(paths)}",
        "** stands for any number of names, * for one or a part of one",
    )


def _is_new(guess: str, pattern: str, paths: Sequence[str]) -> bool:
    return guess != pattern and any(matches(guess, path) for path in paths)


def _guesses(pattern: str, paths: Sequence[str]) -> Iterator[str]:
    """Patterns that may have been meant, the likeliest first."""
    plain = pattern.strip("/").replace(".", "/")
    plain = plain.removeprefix("params/") or plain
    names = list(dict.fromkeys(name for path in paths for name in path.split("/")))
    mended = "/".join(
        name
        if name in names or _has_wildcards(name)
        else next(iter(suggest.nearest(name, names, n=1)), name)
        for name in plain.split("/")
    )
    for guess in dict.fromkeys((plain, mended)):
        yield guess
        yield f"**/{guess}"
        yield f"{guess}/**"
        yield f"**/{guess}/**"


def _so_many(paths: Sequence[str]) -> str:
    return f"{len(paths)} parameter{'s' * (len(paths) != 1)}"


def _listed(paths: Sequence[str]) -> str:
    more = [f"and {len(paths) - _MOST_PATHS} more"] if paths[_MOST_PATHS:] else []
    return ", ".join([*paths[:_MOST_PATHS], *more])
