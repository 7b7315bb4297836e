"""What a Python file offers, read from its syntax alone: nothing is imported."""

from __future__ import annotations

import ast
import dataclasses
import os
import tokenize

from fdlkit import tracebacks
from fdlkit.errors import UserError
from fdlkit.overrides import functions


@dataclasses.dataclass(frozen=True)
class Entry:
    """A function that returns a config, or a fiddler that edits one.

    Attributes:
      name: The function's name.
      kind: `config` or `fiddler`.
      parameters: What may be given in parentheses, as it is written in the file:
        `hidden=64, tied=False`; a fiddler's config is left out.
      summary: The docstring's first line, or an empty string.
      line: Where the function begins, from 1.
    """

    name: str
    kind: functions.Kind
    parameters: str
    summary: str
    line: int


def list_configs(path: str | os.PathLike[str]) -> tuple[Entry, ...]:
    """The configs and fiddlers of a Python file, in the order of the file."""
    text = read_source(path)
    return entries(parse_source(text, path))


def read_source(path: str | os.PathLike[str]) -> str:
    """The file's text in the encoding that it declares."""
    try:
        with tokenize.open(path) as file:
            return file.read()
    except (SyntaxError, UnicodeDecodeError) as error:
        raise UserError(f"{os.fspath(path)} is not Python text: {error}") from error
    except OSError as error:
        raise UserError(f"cannot read {os.fspath(path)}: {error.strerror}") from error


def parse_source(text: str, path: str | os.PathLike[str]) -> ast.Module:
    """The syntax tree; a syntax error is shown with its line and a caret."""
    try:
        return ast.parse(text, filename=os.fspath(path))
    except SyntaxError as error:
        raise UserError(*syntax_error_lines(error, path)) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise UserError(f"{os.fspath(path)} is not Python: {error}") from error


def syntax_error_lines(
    error: SyntaxError, path: str | os.PathLike[str]
) -> tuple[str, ...]:
    """`file:line: message`, the line of code, and a caret under the column."""
    file = tracebacks.shown_path(error.filename or path)
    line = f":{error.lineno}" if error.lineno else ""
    what = f"{file}{line}: {error.msg}"
    if not error.text:
        return (what,)
    code = error.text.rstrip("\n")
    indent = len(code) - len(code.lstrip())
    column = max((error.offset or 1) - 1 - indent, 0)
    return (what, f"  {code.strip()}", "  " + " " * column + "^")


def entries(module: ast.Module) -> tuple[Entry, ...]:
    """The configs and fiddlers among a module's public top-level functions."""
    found = []
    for node in module.body:
        if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
            continue
        kind = functions.kind_of(node)
        if kind is None:
            continue
        doc = ast.get_docstring(node) or ""
        summary = doc.strip().partition("\n")[0]
        skip = 1 if kind == "fiddler" else 0
        found.append(
            Entry(node.name, kind, _parameters(node, skip), summary, node.lineno)
        )
    return tuple(found)


def _parameters(node: ast.FunctionDef, skip: int) -> str:
    """The parameters as `name` or `name=default`, without annotations."""
    args = node.args
    positional = [*args.posonlyargs, *args.args]
    required = len(positional) - len(args.defaults)
    parts = []
    for index, arg in enumerate(positional[skip:], skip):
        default = args.defaults[index - required] if index >= required else None
        parts.append(_parameter(arg, default))
    for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        parts.append(_parameter(arg, default))
    return ", ".join(parts)


def _parameter(arg: ast.arg, default: ast.expr | None) -> str:
    return arg.arg if default is None else f"{arg.arg}={ast.unparse(default)}"
