"""Texts that are almost Python literals: somebody meant a value, not a string."""

from __future__ import annotations

import re

from fdlkit import suggest

# What other languages call None.
NOTHING = ("none", "null", "nil", "nothing")

_CONSTANTS = ("None", "True", "False")
_OPENING = re.compile(r"""[\[({]|[bruf]{0,2}['"]""", re.IGNORECASE)
_UNFINISHED_NUMBER = re.compile(r"[+-]?\d[\d_]*(\.\d*)?(e[+-]?)?[_.]?", re.IGNORECASE)


def near_miss(text: str) -> str | None:
    """What to say of a text that was hardly meant as a string; None of any other.

    It is told of: a constant with another case or with letters swapped (`none`,
    `null`, `true`, `Flase`), what opens a bracket or a quote, and what Python's
    `float` takes though it is no literal (`inf`, `007`), or what breaks off (`1e-`).
    """
    if text.lower() in NOTHING:
        return suggest.did_you_mean("None")
    for constant in _CONSTANTS:
        left, right = text.lower(), constant.lower()
        if left[:1] == right[0] and sorted(left) == sorted(right):
            return suggest.did_you_mean(constant)
    if text.lower() in ("yes", "no"):
        return suggest.did_you_mean("True" if text.lower() == "yes" else "False")
    if _OPENING.match(text):
        return "it opens like a Python literal"
    if _UNFINISHED_NUMBER.fullmatch(text):
        return "it begins like a number"
    try:
        float(text)
    except ValueError:
        return None
    return (
        "write 1e999 for infinity" if "inf" in text.lower() else "it reads as a number"
    )
