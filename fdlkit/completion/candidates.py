"""What may stand where the cursor is: a value, before any shell writes it down."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable


@dataclasses.dataclass(frozen=True)
class Candidate:
    """One thing that the word at the cursor may become.

    Attributes:
      value: The whole word, without quotes.
      about: What it is, in a few words, for shells that show it.
      is_whole: Whether the word is done; else more is typed on to it.
    """

    value: str
    about: str = ""
    is_whole: bool = True


@dataclasses.dataclass(frozen=True)
class Answer:
    """The candidates for a word.

    Attributes:
      candidates: In the order in which they are best shown.
      shared: How much of the value is the same for all and need not be shown: the
        flag's name, the folder.
    """

    candidates: tuple[Candidate, ...] = ()
    shared: int = 0


def behind(head: str, answer: Answer) -> Answer:
    """The same candidates in a word that begins with `head`."""
    moved = [
        dataclasses.replace(each, value=head + each.value) for each in answer.candidates
    ]
    return Answer(tuple(moved), len(head) + answer.shared)


def choose(typed: str, words: Iterable[str]) -> Answer:
    """Those words that begin with what was typed."""
    found = [word for word in words if word.startswith(typed)]
    if not found:  # `--fdl_set=norm=RMS`: enum members and booleans may have any case
        found = [w for w in words if w.lower().startswith(typed.lower())]
    return Answer(tuple(Candidate(word) for word in found))
