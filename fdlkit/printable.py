"""Text that a terminal can be given: what others wrote, without what would act on it.

A message of a constructor, a name in a file or a value's own `repr` may hold escape
sequences, which recolour a terminal, move its cursor or set its title.
"""

from __future__ import annotations


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


def _spelt(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode("ascii")
