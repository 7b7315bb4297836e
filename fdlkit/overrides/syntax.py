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
# A string, which is left alone, or `pkg.mod:Name`, of a dict's key too.
_STRING_OR_QUALIFIED = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
    r"""|(?<![\w.])([A-Za-z_][\w.]*):([A-Za-z_][\w.]*)(?![\w.:])""",
    re.DOTALL,
)
# Python prints no int of more than 4,300 digits, nor reads one.
MOST_DIGITS = 4000
_MOST_BITS = int(MOST_DIGITS * 3.3219)


@dataclasses.dataclass(frozen=True)
class Call:
    """`Name(argument=value)`, taken apart.

    Attributes:
      name: What stands before the parenthesis: `optax.adam`, `pkg.mod:Name`.
      keywords: Each argument's name, the columns of the name, and its expression.
      text: The text that the expressions' columns count in, which is all of it.
      positional: The expressions of the arguments without a name.
    """

    name: str
    keywords: tuple[tuple[str, tuple[int, int], ast.expr], ...]
    text: str
    positional: tuple[ast.expr, ...] = ()


def expression(text: str) -> ast.expr:
    """The expression that a text without outer blanks spells.

    `pkg.mod:Name`, which Python does not know, may stand in it wherever a name may.

    Raises:
      BadTextError: The text is no such expression, or has an int that is too large.
    """
    try:
        node = _parsed(text)
    except _UNREADABLE as error:
        raise BadTextError(
            f"{quote(text)} is not a Python literal",
            (0, len(text)),
            hint=_unfinished(error),
        ) from error
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and is_too_large(part.value):
            raise too_large(text)
    return node


def is_too_large(value: Any) -> bool:
    """Whether the value is an int of more digits than Python is willing to print."""
    return isinstance(value, int) and value.bit_length() > _MOST_BITS


def too_large(text: str) -> BadTextError:
    """The problem that the text spells such an int."""
    what = f"{quote(text)} is too large: an int has at most {MOST_DIGITS} digits"
    return BadTextError(what, (0, len(text)))


def _parsed(text: str) -> ast.expr:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        try:
            return ast.parse(text, mode="eval").body
        except SyntaxError:
            respelt = _STRING_OR_QUALIFIED.sub(_as_a_name, text)
            if respelt == text:
                raise
            return ast.parse(respelt, mode="eval").body


def _as_a_name(match: re.Match[str]) -> str:
    """`pkg.mod:Name` as `pkg.mod_Name`, which takes as many columns."""
    return match[0] if match[1] is None else f"{match[1]}_{match[2]}"


def _unfinished(error: BaseException) -> str:
    """What the parser says where that helps: of brackets and quotes left open."""
    if isinstance(error, RecursionError | MemoryError):
        return "too deeply nested"
    said = error.msg if isinstance(error, SyntaxError) else ""
    if "nested" in said:
        return "too deeply nested"
    telling = ("never closed", "unmatched", "does not match", "unterminated string")
    if not any(words in said for words in telling):
        return ""
    return re.sub(r" \(detected at line \d+\)| on line \d+", "", said)


def literal(node: ast.expr) -> Any:
    """The literal that an expression is.

    Raises:
      ValueError: It is none.
    """
    try:
        return ast.literal_eval(node)
    except _UNREADABLE as error:
        raise ValueError("not a literal") from error


def is_call(text: str) -> bool:
    """Whether the text begins like `Name(argument=value)`."""
    return _CALL.match(text) is not None


def call(text: str) -> Call | None:
    """Takes `Name(argument=value)` apart; None if the text is not written like it.

    Raises:
      BadTextError: It is, but what is in the parentheses are no arguments.
    """
    match = _CALL.match(text)
    if match is None:
        return None
    what = f"{quote(text)} is not written like Name(argument=value)"
    try:
        node = _parsed(text)
    except _UNREADABLE as error:
        raise BadTextError(what, (0, len(text)), hint=_unfinished(error)) from error
    if not isinstance(node, ast.Call) or span(node.func, text)[1] != match.end(1):
        raise BadTextError(what, (0, len(text)))
    expression(text)  # of its numbers
    keywords: list[tuple[str, tuple[int, int], ast.expr]] = []
    for keyword in node.keywords:
        start, _ = span(keyword, text)
        if keyword.arg is None:
            what = f"the arguments of {match[1]} are given by name"
            raise BadTextError(what, (start, start + 2), hint="write argument=value")
        columns = (start, start + len(keyword.arg))
        if any(keyword.arg == name for name, *_ in keywords):
            raise BadTextError(f"{match[1]} is given {keyword.arg} twice", columns)
        keywords.append((keyword.arg, columns, keyword.value))
    return Call(match[1], tuple(keywords), text, tuple(node.args))


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
