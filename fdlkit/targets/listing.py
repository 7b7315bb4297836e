"""What a Python file offers, read from its syntax alone: nothing is imported."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import os
import stat
import tokenize
from collections.abc import Iterator, Mapping

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


def experiments(path: str | os.PathLike[str]) -> tuple[Entry, ...]:
    """The configs of a file that say that they are of a `Trainer`, or do not say what.

    One that needs arguments is a part of others.
    """
    module = parse_source(read_source(path), path)
    wanted = {
        one.name
        for one in functions.definitions(module)
        if one.kind == "config" and _may_be_experiment(one.function)
    }
    return tuple(entry for entry in entries(module) if entry.name in wanted)


def _may_be_experiment(node: ast.FunctionDef) -> bool:
    given = len(node.args.posonlyargs) + len(node.args.args) - len(node.args.defaults)
    if given > 0 or None in node.args.kw_defaults:
        return False
    said = "" if node.returns is None else ast.unparse(node.returns)
    return "[" not in said or "Trainer" in said


def read_source(path: str | os.PathLike[str]) -> str:
    """The text of a Python file, in the encoding that it declares."""
    try:
        with _reading(path), tokenize.open(path) as file:
            return file.read()
    except (SyntaxError, UnicodeDecodeError) as error:
        raise UserError(f"{os.fspath(path)} is not Python text: {error}") from error


def read_json(path: str | os.PathLike[str]) -> str:
    """The text of a JSON file, which is always in UTF-8."""
    try:
        with _reading(path), open(path, encoding="utf-8-sig") as file:
            return file.read()
    except UnicodeDecodeError as error:
        what = f"{os.fspath(path)} is not UTF-8, which JSON is written in"
        raise UserError(what) from error


@contextlib.contextmanager
def _reading(path: str | os.PathLike[str]) -> Iterator[None]:
    try:
        # A pipe has its text once, and whoever waits for it may wait for ever.
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise UserError(f"{os.fspath(path)} is no regular file")
        yield
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
    place = file if error.lineno is None else f"{file}:{error.lineno}"
    what = f"{place}: {error.msg}"
    if not error.text:
        return (what,)
    code = error.text.rstrip("\n")
    indent = len(code) - len(code.lstrip())
    column = max((error.offset or 1) - 1 - indent, 0)
    return (what, f"  {code.strip()}", "  " + " " * column + "^")


def entries(module: ast.Module) -> tuple[Entry, ...]:
    """The configs and fiddlers among a module's public top-level names."""
    found = []
    for one in functions.definitions(module):
        summary = (ast.get_docstring(one.function) or "").strip().partition("\n")[0]
        skip = 1 if one.kind == "fiddler" else 0
        parameters = _parameters(one.function, skip, one.bound)
        found.append(Entry(one.name, one.kind, parameters, summary, one.line))
    return tuple(found)


def _parameters(node: ast.FunctionDef, skip: int, bound: Mapping[str, ast.expr]) -> str:
    """The parameters as `name` or `name=default`, without annotations.

    Those in `bound` have another default.
    """
    args = node.args
    positional = [*args.posonlyargs, *args.args]
    required = len(positional) - len(args.defaults)
    parts = []
    for index, arg in enumerate(positional[skip:], skip):
        default = args.defaults[index - required] if index >= required else None
        parts.append(_parameter(arg, bound.get(arg.arg, default)))
    for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        parts.append(_parameter(arg, bound.get(arg.arg, default)))
    return ", ".join(parts)


def _parameter(arg: ast.arg, default: ast.expr | None) -> str:
    return arg.arg if default is None else f"{arg.arg}={ast.unparse(default)}"
