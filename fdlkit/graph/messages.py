"""What a user's exception says, and values, in a few lines that can be printed.

Both come from code that nobody here has seen: a message may be empty, a book, or
raise when it is asked for, and so may a `repr`.
"""

from __future__ import annotations

import reprlib
from typing import Any

from fdlkit import printable
from fdlkit.errors import UserError, is_interrupt
from fdlkit.graph import reprs

_MAX_LINES = 6
_MAX_LINE = 400
_MAX_PARTS = 4  # of an exception group
_MAX_VALUE = 40


def lines(error: BaseException) -> list[str]:
    """The exception's name and text, its notes, and the exceptions of a group."""
    if isinstance(error, UserError):
        said = list(error.lines)
    else:
        said = _headed(error)
        if isinstance(error, BaseExceptionGroup):
            said += _parts(error)
        for note in _notes(error):
            said += printable.lines(note)
    said = [printable.cut(line, _MAX_LINE) for line in said if line.strip()]
    if len(said) > _MAX_LINES:
        said = [*said[: _MAX_LINES - 1], "..."]
    return said


def raised(who: str, error: BaseException) -> list[str]:
    """That the code of `who` raised it: `who raised ValueError: text`, a few lines."""
    first, *more = lines(error) or [type(error).__name__]
    return [f"{who} raised {first}", *(f"  {line}" for line in more)]


def brief(error: BaseException) -> str:
    """The first line of what an exception says: `ValueError: text`."""
    return (lines(error) or [type(error).__name__])[0]


def short_repr(value: Any) -> str:
    """How a value shows itself, on one line of few characters.

    Of a large container no more than the beginning is looked at.
    """
    try:
        text = _BRIEF.repr(value)
    except BaseException as broken:  # it must not hide the first error
        if is_interrupt(broken):
            raise
        text = f"<{type(value).__qualname__}>"
    return printable.cut(printable.clean(" ".join(text.split())), _MAX_VALUE)


class _Brief(reprlib.Repr):
    """`repr`, but for containers, which are not written out beyond what is shown."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 4
        most = _MAX_VALUE // 3  # `1, ` is the shortest element
        self.maxlist = self.maxtuple = self.maxdict = most
        self.maxset = self.maxfrozenset = self.maxdeque = self.maxarray = most
        self.maxstring = self.maxlong = self.maxother = 2 * _MAX_VALUE

    def repr_dict(self, x: dict[Any, Any], level: int) -> str:
        """As `dict` writes itself: in its own order."""
        if level <= 0 and x:
            return "{...}"
        parts: list[str] = []
        for key, value in x.items():
            if len(parts) == self.maxdict:
                parts.append("...")
                break
            parts.append(
                f"{self.repr1(key, level - 1)}: {self.repr1(value, level - 1)}"
            )
        return f"{{{', '.join(parts)}}}"

    def repr_str(self, x: str, level: int) -> str:
        """The beginning is shown; what follows is cut by whoever asked."""
        return repr(x[: self.maxstring])

    def repr_instance(self, x: Any, level: int) -> str:
        """An object's own `repr`, unless that is endless; errors are for the asker."""
        return repr(x) if reprs.is_short(x) else f"{type(x).__qualname__}(...)"


_BRIEF = _Brief()


def _headed(error: BaseException) -> list[str]:
    """`ValueError: text`, over several lines if the text is."""
    name = type(error).__name__
    try:
        text = str(error)
    except BaseException as broken:  # the error is told even if it cannot tell itself
        if is_interrupt(broken):
            raise
        return [f"{name} (its text cannot be read: {type(broken).__name__})"]
    found = [line for line in printable.lines(text) if line.strip()]
    if not found:
        return [f"{name} (without a text)"]
    return [f"{name}: {found[0]}", *found[1:]]


def _notes(error: BaseException) -> list[str]:
    """What was added to the exception later; whatever else stands there is no note."""
    notes = getattr(error, "__notes__", None)
    if not isinstance(notes, list | tuple):
        return []
    return [note for note in notes if isinstance(note, str)]


def _parts(group: BaseExceptionGroup[BaseException]) -> list[str]:
    said = [f"  {_headed(part)[0]}" for part in group.exceptions[:_MAX_PARTS]]
    more = len(group.exceptions) - _MAX_PARTS
    return [*said, f"  and {more} more"] if more > 0 else said
