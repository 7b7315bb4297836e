"""The words of a command line as a shell reads them, up to the cursor."""

from __future__ import annotations

import dataclasses
import re

# After a backslash in double quotes; before any other the backslash stays.
_ESCAPED = '"\\$`\n'

# What a shell takes as it is in a word without quotes.
_SAFE = re.compile(r"[\w@%+=:,./~^-]")


@dataclasses.dataclass(frozen=True)
class Word:
    """One word of a command line.

    Attributes:
      raw: As it stands there, with quotes and backslashes.
      value: What the program is given; but `~` and `$X` are left as they are.
      quote: The quote that is still open at its end, or an empty string.
      ends: For each character of the value, how much of `raw` ends with it.
    """

    raw: str = ""
    value: str = ""
    quote: str = ""
    ends: tuple[int, ...] = ()


def split(line: str) -> list[Word]:
    """The words of a line; the last is the one that the cursor stands at the end of.

    It is empty if the cursor stands behind a blank.
    """
    words: list[Word] = []
    raw, value = "", ""
    ends: list[int] = []
    quote, escaped = "", False
    for char in line:
        if char.isspace() and not quote and not escaped:
            if raw:
                words.append(Word(raw, value, "", tuple(ends)))
            raw, value, ends = "", "", []
            continue
        raw += char
        literal = ""
        if escaped:
            escaped = False
            literal = f"\\{char}" if quote and char not in _ESCAPED else char
        elif char == quote:
            quote = ""
        elif char == "\\" and quote != "'":
            escaped = True
        elif char in "'\"" and not quote:
            quote = char
        else:
            literal = char
        value += literal
        ends += [len(raw)] * len(literal)
    return [*words, Word(raw, value, quote, tuple(ends))]


def quoted(text: str, quote: str) -> str:
    """A text as it is typed on where `quote` is open, or none."""
    if quote == "'":
        return text.replace("'", "'\\''")
    if quote:
        return re.sub(r'(["\\$`])', r"\\\1", text)
    return "".join(c if _SAFE.match(c) else f"\\{c}" for c in text)
