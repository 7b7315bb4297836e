"""What each shell's script asks and is answered, and the scripts themselves.

A script passes the line up to the cursor, as it was typed, to the hidden verb
`__complete`, which answers a candidate a line:

    bash    the text that takes the place of what is being completed, with quotes
    zsh     how much of the line all have in common; then `+` or, for what is not yet
            a whole word, `-`, the candidate without that part, a tab, what it is
    fish    the whole word, a tab, what it is
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

from fdlkit.completion.candidates import Answer
from fdlkit.completion.words import Word, quoted, split


def script(shell: str) -> str:
    """The script that a shell reads once."""
    from importlib import resources  # only here: every TAB would pay for it

    file = resources.files("fdlkit.completion") / f"fdlkit.{shell}"
    return file.read_text(encoding="utf-8")


def answer_lines(shell: str, word: Word, answer: Answer, replaced: int) -> list[str]:
    """What `__complete` prints.

    Args:
      shell: `bash`, `zsh` or `fish`.
      word: The word at the cursor.
      answer: Its candidates.
      replaced: Bash alone says it: how many characters before the cursor it puts
        another text in place of. It is what stands behind the last `=` or `:`.
    """
    # A file's name may hold what moves the cursor, or ends a line.
    shown = [
        dataclasses.replace(candidate, about=_printable(candidate.about))
        for candidate in answer.candidates
        if candidate.value.isprintable()
    ]
    return _SHELLS[shell](word, Answer(tuple(shown), answer.shared), replaced)


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)


def _for_bash(word: Word, answer: Answer, replaced: int) -> list[str]:
    kept = split(word.raw[: len(word.raw) - replaced])[-1]
    # Behind an open quote bash closes it itself, and then no blank may stand there.
    end = kept.quote or " "
    lines = []
    for candidate in answer.candidates:
        if candidate.value.startswith(kept.value):
            text = quoted(candidate.value[len(kept.value) :], kept.quote)
            lines.append(text + end * candidate.is_whole)
    if kept.quote and len(lines) == 1 and not lines[0].endswith(kept.quote):
        # It would close the quote of a lone candidate that is not whole yet.
        lines.append(f"{lines[0]} ")
    return lines


def _for_zsh(word: Word, answer: Answer, replaced: int) -> list[str]:
    shared = answer.shared if answer.shared <= len(word.value) else 0
    lines = [str(word.ends[shared - 1] if shared else 0)]
    for candidate in answer.candidates:
        mark = "+" if candidate.is_whole else "-"
        lines.append(f"{mark}{candidate.value[shared:]}\t{candidate.about}")
    return lines


def _for_fish(word: Word, answer: Answer, replaced: int) -> list[str]:
    return [f"{c.value}\t{c.about}" for c in answer.candidates]


_SHELLS: Mapping[str, Callable[[Word, Answer, int], list[str]]] = {
    "bash": _for_bash,
    "zsh": _for_zsh,
    "fish": _for_fish,
}

SHELLS = tuple(_SHELLS)
