"""What is wrong with a text that should be a config, and where in the config."""

from __future__ import annotations

from typing import Any, TypeVar

from fdlkit.graph import paths
from fdlkit.graph.paths import Path

_T = TypeVar("_T")

_LONGEST = 60  # of damaged data in a message


class FormatError(Exception):
    """Something in the text is not as it is written.

    Attributes:
      path: Where in the config, if that is known.
    """

    path: Path | None = None

    def line(self) -> str:
        """What is wrong, with the place before it."""
        where = "" if self.path is None else f"{paths.brief(self.path)}: "
        return f"{where}{self}"


def a(kind: type[_T], data: Any, at: str) -> _T:
    """The data, if it is of just this type.

    Raises:
      FormatError: It is not.
    """
    if type(data) is not kind:
        raise FormatError(f"{at} has {short(data)} where a {kind.__name__} belongs")
    return data


def pair(data: Any, at: str) -> tuple[Any, Any]:
    """The two parts of a list of two, the first of which is no list.

    Raises:
      FormatError: It is no such list.
    """
    if type(data) is not list or len(data) != 2 or isinstance(data[0], list):
        raise FormatError(f"{at} has {short(data)} where a pair belongs")
    return data[0], data[1]


def short(data: Any) -> str:
    """The data on one line, cut."""
    try:
        text = repr(data)
    except (ValueError, RecursionError):  # an int of too many digits; too deep
        return f"a long {type(data).__name__}"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
