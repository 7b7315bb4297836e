"""Arguments of a file that what they are for no longer takes."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from inspect import Parameter
from typing import Any

from fdlkit import suggest
from fdlkit.graph import signatures

_MOST = 8  # names that are listed where none is near


def unknown_parameters(name: str, called: Any, keys: Collection[Any]) -> Iterator[str]:
    """What is wrong with the keys of some arguments, a line each.

    Args:
      name: The name of what is called.
      called: A function or class.
      keys: Names and positions of the arguments that it is given.
    """
    if not callable(called):
        yield f"{name} cannot be called"
        return
    try:
        parameters = signatures.all_parameters(called)
    except (TypeError, ValueError):  # `max` tells nothing; Fiddle makes no config of it
        yield f"{name} does not tell its parameters, so that no config can call it"
        return
    kinds = {parameter.kind for parameter in parameters.values()}
    if Parameter.VAR_KEYWORD not in kinds:
        known = [p.name for p in parameters.values() if p.kind in signatures.BY_NAME]
        shown = [key for key in known if key not in signatures.hidden(called)]
        for key in keys:
            if isinstance(key, str) and key not in known:
                yield f"{name} has no parameter '{key}', {_near(key, shown)}"
    places = [p for p in parameters.values() if p.kind in signatures.BY_PLACE]
    given = sorted(key for key in keys if isinstance(key, int))
    if Parameter.VAR_POSITIONAL in kinds:
        expected = len(places)
        for key in given:
            if key > expected:
                yield f"{name} is given argument {key} by position, but not {expected}"
                return
            expected = max(expected, key + 1)
    elif given and given[-1] >= len(places):
        yield (
            f"{name} takes {len(places)} arguments by position, "
            f"and is given argument {given[-1]}"
        )


def _near(key: str, known: list[str]) -> str:
    hint = suggest.hint(key, known)
    if hint is not None:
        return hint
    more = ", …" if len(known) > _MOST else ""
    return f"it has {', '.join(known[:_MOST]) or 'none'}{more}"
