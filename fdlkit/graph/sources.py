"""A function as it was written, to ask it what its signature does not say."""

from __future__ import annotations

import ast
import functools
import importlib.util
import inspect
import linecache
import os
import pathlib
import textwrap
import tokenize
import types

Definition = ast.FunctionDef | ast.AsyncFunctionDef

# Of a compiled module: magic number, flags, time and size of the source it is of.
_HEADER = 16


def definition(function: object) -> Definition | None:
    """The `def` of a Python function; None where none can be relied on.

    There is none of a lambda, of what is written in C, of what was typed into a
    prompt; and a file that has changed since it was imported tells nothing.
    """
    if not isinstance(function, types.FunctionType):
        return None
    return _definition(function.__code__)


@functools.lru_cache(maxsize=1024)  # one decorator makes many functions of one code
def _definition(code: types.CodeType) -> Definition | None:
    try:
        # What `inspect` does, but for its search of all modules for the file's own.
        lines = linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :]
        text = textwrap.dedent("".join(inspect.getblock(lines)))
        found = ast.parse(text).body
    except (SyntaxError, ValueError, tokenize.TokenError):
        return None
    if len(found) != 1 or not isinstance(found[0], Definition):
        return None
    named = [argument.arg for argument in _parameters(found[0])]
    is_same = found[0].name == code.co_name and named == _names(code)
    return found[0] if is_same and _is_as_imported(code.co_filename) else None


def parameters(written: Definition) -> list[tuple[str, ast.expr | None]]:
    """Name and default of each parameter but variadic ones, in order."""
    positional = [*written.args.posonlyargs, *written.args.args]
    defaults: list[ast.expr | None] = [None] * len(positional)
    if written.args.defaults:
        defaults[-len(written.args.defaults) :] = written.args.defaults
    named = [*positional, *written.args.kwonlyargs]
    defaults += written.args.kw_defaults
    return [(a.arg, default) for a, default in zip(named, defaults, strict=True)]


def _parameters(written: Definition) -> list[ast.arg]:
    args = written.args
    variadic = [args.vararg, args.kwarg]
    return [
        *(*args.posonlyargs, *args.args, *args.kwonlyargs),
        *(argument for argument in variadic if argument is not None),
    ]


def _names(code: types.CodeType) -> list[str]:
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS)
    count += bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return list(code.co_varnames[:count])


def _is_as_imported(filename: str) -> bool:
    """Whether the file is still what Python last compiled, as far as that is known."""
    try:
        compiled = pathlib.Path(importlib.util.cache_from_source(filename))
        header = compiled.read_bytes()[:_HEADER]
        now = os.stat(filename)
    except (OSError, NotImplementedError, ValueError):
        return True
    if len(header) < _HEADER or any(header[4:8]):
        return True  # compiled by the content's hash, which tells no time
    time = int.from_bytes(header[8:12], "little")
    size = int.from_bytes(header[12:16], "little")
    return time == int(now.st_mtime) & 0xFFFFFFFF and size == now.st_size & 0xFFFFFFFF
