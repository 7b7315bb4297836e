"""An order for the elements of a set that every process agrees on."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

# Compared in turn: the type's name, the number if it is one, else a text.
Rank = tuple[str, float, str]

# Of what is nested the text of a text grows fast; a longer one is replaced by a digest.
_MAX_TEXT = 200


def rank(element: Any, leaf: Callable[[Any], Any]) -> Rank:
    """Where an element stands among others.

    Args:
      element: Something hashable: a leaf, or tuples and frozensets of them.
      leaf: Gives what the `repr` of a leaf is to be taken of, for no address in it.
    """
    done: dict[int, Rank] = {}
    todo: list[tuple[Any, bool]] = [(element, False)]
    while todo:
        part, is_below_done = todo.pop()
        if id(part) in done:
            continue
        kind = type(part).__qualname__
        if not isinstance(part, tuple | frozenset):
            is_number = type(part) in (int, float, bool) and part == part
            done[id(part)] = (
                (kind, part, "") if is_number else (kind, 0, repr(leaf(part)))
            )
        elif is_below_done:
            below = [done[id(child)] for child in part]
            text = repr(below if isinstance(part, tuple) else sorted(below))
            if len(text) > _MAX_TEXT:
                text = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
            done[id(part)] = kind, 0, text
        else:
            todo.append((part, True))
            todo += [(child, False) for child in part]
    return done[id(element)]
