"""What a Python file offers, read from its syntax alone: nothing is imported."""

from __future__ import annotations

import ast
import dataclasses
import os
import tokenize
from typing import Literal

from fdlkit import tracebacks
from fdlkit.errors import UserError

_CONFIG_TYPES = {"Config", "Partial", "ArgFactory", "Buildable"}
_CONFIG_PARAMETERS = {"cfg", "config", "conf", "experiment"}


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
    kind: Literal["config", "fiddler"]
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
    place = file if error.lineno is None else f"{file}:{error.lineno}"
    what = f"{place}: {error.msg}"
    if not error.text:
        return (what,)
    code = error.text.rstrip("\n")
    indent = len(code) - len(code.lstrip())
    column = max((error.offset or 1) - 1 - indent, 0)
    return (what, f"  {code.strip()}", "  " + " " * column + "^")


def entries(module: ast.Module) -> tuple[Entry, ...]:
    """The configs and fiddlers among a module's public top-level names.

    Functions, and other names for them: `small = base.as_buildable`,
    `wide = functools.partial(widen, by=2)`.
    """
    found: dict[str, Entry] = {}
    functions: dict[str, ast.FunctionDef] = {}
    for node in module.body:
        bound: dict[str, ast.expr] = {}
        match node:
            case ast.FunctionDef(name=name):
                function = node
                functions[name] = node
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                of, bound = _other_name(value)
                if of not in functions:
                    continue
                function = functions[name] = functions[of]
            case _:
                continue
        kind = _kind(function)
        if kind is None or name.startswith("_"):
            continue
        doc = ast.get_docstring(function) or ""
        summary = doc.strip().partition("\n")[0]
        skip = 1 if kind == "fiddler" else 0
        parameters = _parameters(function, skip, bound)
        found.pop(name, None)  # the last of several is what the name means
        found[name] = Entry(name, kind, parameters, summary, node.lineno)
    return tuple(found.values())


def _other_name(value: ast.expr) -> tuple[str, dict[str, ast.expr]]:
    """The function that an expression is another name for, and arguments it fixes."""
    match value:
        case ast.Attribute(value=ast.Name(id=of), attr="as_buildable"):
            return of, {}
        case ast.Call(func=called, args=[ast.Name(id=of)], keywords=keywords):
            if _last_name(called) == "partial":
                return of, {k.arg: k.value for k in keywords if k.arg is not None}
    return "", {}


def _kind(node: ast.FunctionDef) -> Literal["config", "fiddler"] | None:
    if any(_last_name(d) == "auto_config" for d in node.decorator_list):
        return "config"
    positional = [*node.args.posonlyargs, *node.args.args]
    required = positional[: len(positional) - len(node.args.defaults)]
    first = required[0] if required else None
    if first is not None and (
        first.arg in _CONFIG_PARAMETERS or _last_name(first.annotation) in _CONFIG_TYPES
    ):
        # A function that is given a config and returns one is a part of others.
        nothing = node.returns is None or ast.unparse(node.returns) == "None"
        return "fiddler" if nothing and not _returns_a_value(node) else None
    if node.returns is not None:
        return "config" if _last_name(node.returns) in _CONFIG_TYPES else None
    return "config" if not required and _returns_a_value(node) else None


def _last_name(node: ast.expr | None) -> str:
    """`Config` of `fdl.Config[Trainer]`, also when it is called or quoted."""
    while True:
        match node:
            case ast.Subscript(value=inner) | ast.Call(func=inner):
                node = inner
            case ast.Attribute(attr=name) | ast.Name(id=name):
                return name
            case ast.Constant(value=str(text)):
                return text.partition("[")[0].rpartition(".")[2]
            case _:
                return ""


def _returns_a_value(node: ast.FunctionDef) -> bool:
    """Whether the function itself, not one inside it, returns something."""
    todo: list[ast.AST] = list(node.body)
    while todo:
        child = todo.pop()
        if isinstance(child, ast.Return):
            value = child.value
            if value is not None and not isinstance(value, ast.Constant):
                return True
        elif not isinstance(
            child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
        ):
            todo.extend(ast.iter_child_nodes(child))
    return False


def _parameters(node: ast.FunctionDef, skip: int, bound: dict[str, ast.expr]) -> str:
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
