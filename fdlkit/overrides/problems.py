"""What can be wrong with an override, as a value, and how it is printed."""

from __future__ import annotations

import dataclasses


class BadText(Exception):
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

    def shifted(self, columns: int) -> BadText:
        """The same problem in a text that begins `columns` further left."""
        span = self.span and (self.span[0] + columns, self.span[1] + columns)
        return BadText(self.what, span, hint=self.hint, more=self.more)


@dataclasses.dataclass(frozen=True)
class Quoted:
    """A text in which a problem is marked: `--fdl_set=` and `model.hiden=256`."""

    prefix: str
    text: str

    def lines(self, problem: BadText) -> list[str]:
        """The message's lines: what, the text, the caret, what is possible."""
        # Control characters would move the caret away from what it marks.
        text = "".join(c if c.isprintable() else "?" for c in self.text)
        lines = [problem.what, f"  {self.prefix}{text}"]
        if problem.span is not None:
            start, end = problem.span
            carets = "^" * max(end - start, 1)
            margin = " " * (2 + len(self.prefix) + start)
            lines.append(f"{margin}{carets} {problem.hint}".rstrip())
        elif problem.hint:
            lines.append(f"  {problem.hint}")
        lines += [f"  {line}" for line in problem.more]
        return lines
