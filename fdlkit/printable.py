"""Text that a terminal can be given: what others wrote, without what would act on it.

A message of a constructor, a name in a file or a value's own `repr` may hold escape
sequences, which recolour a terminal, move its cursor or set its title.
"""

from __future__ import annotations

import unicodedata


def clean(text: str) -> str:
    r"""The text on one line, each character that is not printable spelt out: `\x1b`.

    Tabs become single blanks, so that columns still count characters.
    """
    text = text.replace("\t", " ")
    return text if text.isprintable() else "".join(map(_spelt, text))


def lines(text: str) -> list[str]:
    """The lines of a text, each one clean."""
    return [clean(line) for line in text.splitlines()]


def cut(text: str, length: int) -> str:
    """The text, its end left out where it is longer than `length`."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def columns(text: str) -> int:
    """How many columns of a terminal a text takes: some characters take two."""
    if text.isascii():
        return len(text)
    return sum(map(_columns, text))


def cut_columns(text: str, most: int) -> str:
    """The text, its end left out where it takes more columns."""
    if columns(text) <= most:
        return text
    taken = 1  # by the ellipsis
    for index, character in enumerate(text):
        taken += _columns(character)
        if taken > most:
            return f"{text[:index]}…"
    return text


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _spelt(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode("ascii")
