"""Taking an override's text apart: path, operator, value, each with its columns."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Literal

from fdlkit.graph import paths
from fdlkit.overrides.problems import BadTextError, quote

Operator = Literal["=", "+=", "*=", "~"]

# A bracket with quoted strings in it, the two spellings of "everywhere below", a dot,
# or a segment: everything up to the next of these.
_BRACKET = r"""\[(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\]'"])*\]"""
_PIECE = re.compile(rf"{_BRACKET}|\*\*|\.\.\.|\.|[^.\[\]=*+~\s]+")
_OPERATOR = re.compile(r"\s*(\+=|\*=|=)")
_FORMS = "a path looks like a.b, a[0], a.0, d['k'] or **.dropout"


@dataclasses.dataclass(frozen=True)
class Step:
    """One step of a path.

    Attributes:
      key: The key, or None for `**`: everywhere below.
      span: Its columns in the override.
    """

    key: paths.PathKey | None
    span: tuple[int, int]


@dataclasses.dataclass(frozen=True)
class Assignment:
    """`PATH=VALUE` and its like.

    Attributes:
      steps: The path.
      operator: `=`, `+=`, `*=` or `~` (unset; there is no value).
      value: The value's text, verbatim.
      value_start: The column where the value begins.
    """

    steps: tuple[Step, ...]
    operator: Operator
    value: str = ""
    value_start: int = 0

    @property
    def path_span(self) -> tuple[int, int]:
        """The columns of the whole path."""
        return self.steps[0].span[0], self.steps[-1].span[1]


def parse(text: str) -> Assignment:
    """Takes an override apart.

    Raises:
      BadTextError: The text is not written like one.
    """
    unset = text.startswith("~")
    steps, position = _steps(text, 1 if unset else 0, _not_an_override)
    if not steps:
        raise _not_an_override(text, position)
    if unset:
        if position < len(text):
            what = f"{quote(text)} unsets and so takes no value"
            raise BadTextError(what, (position, len(text)))
        return Assignment(steps, "~")
    match = _OPERATOR.match(text, position)
    if match is None:
        raise _not_an_override(text, position)
    operator: Operator = match[1]  # type: ignore[assignment]
    return Assignment(steps, operator, text[match.end() :], match.end())


def parse_path(text: str) -> tuple[Step, ...]:
    """Takes a path alone apart; no steps for the root, `<root>` or the empty text.

    Raises:
      BadTextError: The text is no path.
    """
    if text in ("", paths.ROOT):
        return ()
    steps, position = _steps(text, 0, _not_a_path)
    if steps and position == len(text):
        return steps
    raise _not_a_path(text, position)


def _not_a_path(text: str, position: int) -> BadTextError:
    return BadTextError(
        f"{quote(text)} is not a path",
        (position, max(len(text), position + 1)),
        more=(_FORMS,),
    )


def _not_an_override(text: str, position: int) -> BadTextError:
    return BadTextError(
        f"{quote(text)} is not written like PATH=VALUE",
        (position, max(len(text), position + 1)),
        more=(_FORMS,),
    )


def _steps(
    text: str, start: int, unfinished: Callable[[str, int], BadTextError]
) -> tuple[tuple[Step, ...], int]:
    steps: list[Step] = []
    position, after_dot = start, True
    while match := _PIECE.match(text, position):
        piece = match[0]
        if piece == ".":
            if after_dot:
                break
            after_dot = True
        elif piece in ("**", "..."):
            if piece == "**" and not after_dot:
                break
            steps.append(Step(None, match.span()))
            # `...dropout` needs no further dot, `**.dropout` does.
            after_dot = piece == "..."
        else:
            bracket = piece.startswith("[")
            if not bracket and not after_dot:
                break
            steps.append(Step(_key(text, match.span()), match.span()))
            after_dot = False
        position = match.end()
    if steps and (after_dot or steps[-1].key is None):
        raise unfinished(text, position)
    return tuple(steps), position


def _key(text: str, span: tuple[int, int]) -> paths.PathKey:
    part = text[slice(*span)]
    try:
        (key,) = paths.parse(part)
    except (paths.PathError, ValueError) as error:
        what = f"{quote(part)} is not a part of a path"
        hint = ""
        if part[-1] in "-/%@&|^" and text[span[1] :].startswith("="):
            hint = "of the operators there are =, += and *="
        if part == "[*]":
            hint = "everywhere below is **, as in **.dropout"
        raise BadTextError(what, span, hint=hint) from error
    return key
