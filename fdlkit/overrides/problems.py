"""What can be wrong with an override, as a value, and how it is printed."""

from __future__ import annotations

from collections.abc import Iterable


class BadTextError(Exception):
    """A part of an override that cannot be taken.

    Attributes:
      what: The first line of the message: what is wrong, and where.
      span: The columns of the override's text that the caret marks, end excluded.
      hint: What stands behind the caret, such as `did you mean 'hidden'?`.
      more: Further lines: what is possible, what to do.
    """

    def __init__(
        self,
        what: str,
        span: tuple[int, int] | None = None,
        *,
        hint: str = "",
        more: tuple[str, ...] = (),
    ):
        super().__init__(what)
        self.what = what
        self.span = span
        self.hint = hint
        self.more = more

    def shifted(self, columns: int) -> BadTextError:
        """The same problem in a text that begins `columns` further left."""
        span = self.span and (self.span[0] + columns, self.span[1] + columns)
        return BadTextError(self.what, span, hint=self.hint, more=self.more)

    def at(self, label: str) -> BadTextError:
        """The same problem with the place behind what is wrong."""
        what = f"{self.what}: {label}"
        return BadTextError(what, self.span, hint=self.hint, more=self.more)


_WIDTH = 100  # of what is quoted of a longer override
_SHOWN = 40  # of what is quoted of a longer value, inside a sentence


def quote(text: str) -> str:
    """The text in single quotes, printable, and no longer than a person reads."""
    return f"'{cut(text, _SHOWN)}'"


def cut(text: str, length: int = _WIDTH) -> str:
    """The text, printable, its end left out where it is longer."""
    text = _printable(text)
    return text if len(text) <= length else f"{text[: length - 1]}…"


def listing(names: Iterable[str]) -> str:
    """The names with commas, as many as fit in a line."""
    names = list(names)
    line = ""
    for name in names:
        if len(line) + len(name) > _WIDTH - 30:
            return f"{line}…"
        line += f"{name}, "
    return line.removesuffix(", ") or "none"


def quoted_lines(problem: BadTextError, prefix: str, text: str) -> list[str]:
    """The message: what is wrong, the text, a caret under it, what is possible.

    Args:
      problem: Its span counts in `text`.
      prefix: What stands before the text on the command line, such as `--fdl_set=`.
      text: The override.
    """
    start, end = problem.span or (0, 0)
    # Of a long override the part around the caret is shown.
    left = max(0, min(start - 20, len(text) - _WIDTH)) if len(text) > _WIDTH else 0
    shown = _printable(text[left : left + _WIDTH])
    if left:
        shown = "…" + shown[1:]
    if len(text) > left + _WIDTH:
        shown = shown[:-1] + "…"
    lines = [problem.what, f"  {prefix}{shown}"]
    if problem.span is not None:
        carets = "^" * max(min(end, left + _WIDTH) - start, 1)
        margin = " " * (2 + len(prefix) + start - left)
        lines.append(f"{margin}{carets} {problem.hint}".rstrip())
    elif problem.hint:
        lines.append(f"  {problem.hint}")
    return [*lines, *(f"  {line}" for line in problem.more)]


def _printable(text: str) -> str:
    """Control characters would move the caret away from what it marks."""
    return "".join(c if c.isprintable() else "?" for c in text)
