"""Python expressions in a user's text: parsed, never evaluated."""

from __future__ import annotations

import ast
import dataclasses
import re
import warnings
from typing import Any

from fdlkit.overrides.problems import BadTextError, quote

# What the parser and the literal reader are known to raise on hostile text.
_UNREADABLE = (SyntaxError, ValueError, TypeError, RecursionError, MemoryError)
_CALL = re.compile(r"([A-Za-z_][\w.]*(?::[A-Za-z_][\w.]*)?)\s*\(")


@dataclasses.dataclass(frozen=True)
class Call:
    """`Name(argument=value)`, taken apart.

    Attributes:
      name: What stands before the parenthesis: `optax.adam`, `pkg.mod:Name`.
      keywords: Each argument's name, the columns of the name, and its expression.
      text: The text that the expressions' columns count in, which is all of it.
    """

    name: str
    keywords: tuple[tuple[str, tuple[int, int], ast.expr], ...]
    text: str


def expression(text: str) -> ast.expr:
    """The expression that a text without outer blanks spells.

    Raises:
      BadTextError: The text is no Python expression.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            return ast.parse(text, mode="eval").body
    except _UNREADABLE as error:
        deep = isinstance(error, RecursionError | MemoryError)
        raise BadTextError(
            f"{quote(text)} is not a Python literal",
            (0, len(text)),
            hint="too deeply nested" if deep else "",
        ) from error


def literal(node: ast.expr) -> Any:
    """The literal that an expression is.

    Raises:
      ValueError: It is none.
    """
    try:
        return ast.literal_eval(node)
    except _UNREADABLE as error:
        raise ValueError("not a literal") from error


def call(text: str) -> Call | None:
    """Takes `Name(argument=value)` apart; None if the text is not written like it.

    Raises:
      BadTextError: It is, but what is in the parentheses are no named arguments.
    """
    match = _CALL.match(text)
    if match is None:
        return None
    # `pkg.mod:Name(...)` is no expression; a name of the same length is.
    stand_in = "_" * len(match[1]) + text[len(match[1]) :]
    node = expression(stand_in)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise BadTextError(
            f"{quote(text)} is not written like Name(argument=value)", (0, len(text))
        )
    if node.args:
        start, end = span(node.args[0], text)
        what = f"the arguments of {match[1]} are given by name"
        raise BadTextError(what, (start, end), hint="write argument=value")
    keywords = []
    for keyword in node.keywords:
        start, _ = span(keyword, text)
        if keyword.arg is None:
            what = f"the arguments of {match[1]} are given by name"
            raise BadTextError(what, (start, start + 2), hint="write argument=value")
        keywords.append((keyword.arg, (start, start + len(keyword.arg)), keyword.value))
    return Call(match[1], tuple(keywords), text)


def span(node: ast.expr | ast.keyword, text: str) -> tuple[int, int]:
    """The columns of an expression in its text, counted in characters."""
    return (
        _column(text, node.lineno, node.col_offset),
        _column(text, node.end_lineno or node.lineno, node.end_col_offset or 0),
    )


def _column(text: str, line: int, byte: int) -> int:
    """`ast` counts UTF-8 bytes in a line; a caret counts characters in the text."""
    lines = text.encode().split(b"\n")
    before = b"\n".join(lines[: line - 1])
    newline = 1 if line > 1 else 0
    head = lines[line - 1][:byte] if line <= len(lines) else b""
    return len(before.decode()) + newline + len(head.decode(errors="replace"))
