"""Names for variables and functions: by role, unique, and none that means something."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable

# Of a role that says so little the class says more.
_VAGUE = frozenset({"value", "default", "args", "kwargs", "fn", "func", "function"})

_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+|[0-9]+")


def is_name(text: str) -> bool:
    """Whether an argument can be written `text=`."""
    return text.isidentifier() and not keyword.iskeyword(text) and text.isascii()


def snake(text: str) -> str:
    """`TokenWindows` as `token_windows`; empty if no identifier is in it."""
    words = [word.lower() for word in _WORDS.findall(text)]
    name = "_".join(words)
    return name if name.isidentifier() else ""


def of_role(role: str, called: str) -> str:
    """The name of what a holder calls `role` and what is itself called `called`."""
    name = snake(role)
    if not name or name in _VAGUE:
        name = snake(called) or name
    return name or "value"


def singular(role: str) -> str:
    """What one of several is called: `layer` of `layers`; empty if that is unclear."""
    name = snake(role)
    if len(name) < 4 or not name.endswith("s") or name.endswith(("ss", "us", "is")):
        return ""
    if name.endswith("ies") and len(name) > 4:
        return f"{name[:-3]}y"
    if name.endswith(("ches", "shes", "xes", "sses")):
        return name[:-2]
    return name[:-1]


class Namer:
    """Gives out names, none twice in what one function sees.

    Attributes:
      taken: The names that are in use.
    """

    def __init__(self, taken: Iterable[str]) -> None:
        self.taken = set(taken)
        self._next: dict[str, int] = {}

    def name(self, wishes: Iterable[str], around: frozenset[str] = frozenset()) -> str:
        """The first wish that is free; else the first one with a number.

        Args:
          wishes: Names, the best first; there is at least one.
          around: More names that are in use where this one will be seen.
        """
        wanted = [w for w in wishes if w and not keyword.iskeyword(w)] or ["value"]
        for wish in wanted:
            if wish not in self.taken and wish not in around:
                self.taken.add(wish)
                return wish
        first = wanted[0]
        number = self._next.get(first, 2)
        while f"{first}_{number}" in self.taken or f"{first}_{number}" in around:
            number += 1
        self._next[first] = number + 1
        name = f"{first}_{number}"
        self.taken.add(name)
        return name
