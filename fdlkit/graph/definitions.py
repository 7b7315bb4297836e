"""Where a function or class, and the default of one of its parameters, is written."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import linecache
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from fdlkit.graph import fiddle_internals, names
from fdlkit.graph.model import Origin

_Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Definitions:
    """Looks definitions up in source files, each of which is parsed once.

    Nothing is imported or run for it. What has no source (a builtin, a function made
    by `exec`) or has been changed on disk since may have no answer.
    """

    def __init__(self) -> None:
        self._trees: dict[str, ast.Module | None] = {}
        # By the callable's id, with the callable itself so that its id stays its own.
        self._found: dict[tuple[int, str | None], tuple[Any, Origin | None]] = {}

    def of_callable(self, called: Any) -> Origin | None:
        """Where a function or class is defined."""
        return self._remembered(called, None)

    def of_default(self, called: Any, name: str) -> Origin | None:
        """Where the default of a parameter is written."""
        return self._remembered(called, name)

    def _remembered(self, called: Any, name: str | None) -> Origin | None:
        key = id(called), name
        if key not in self._found:
            lazy = fiddle_internals.lazy_name(called)
            # Such a name has every attribute, and to ask for one may import it.
            plain = names.reach(*lazy) if lazy is not None else called
            plain = _unwrapped(plain)
            origin = self._whole(plain) if name is None else self._part(plain, name)
            self._found[key] = called, origin
        return self._found[key][1]

    def _whole(self, called: Any) -> Origin | None:
        if inspect.isclass(called):
            file, found = _file_of_class(called), self._class(called)
            return None if file is None or found is None else Origin(file, found.lineno)
        code = getattr(called, "__code__", None)
        if not isinstance(code, types.CodeType) or not linecache.getlines(
            code.co_filename
        ):
            return None
        node = self._function(code)
        return Origin(code.co_filename, node.lineno if node else code.co_firstlineno)

    def _part(self, called: Any, name: str) -> Origin | None:
        if not inspect.isclass(called):
            return self._of_argument(called, name)
        has_fields = dataclasses.is_dataclass(called) or hasattr(called, "_fields")
        for owner in called.__mro__:
            # What a class defines itself comes before what it inherits.
            made = vars(owner).get("__init__") or vars(owner).get("__new__")
            if made is not None and (found := self._of_argument(made, name)):
                return found
            if has_fields and (found := self._of_field(owner, name)):
                return found
        return None

    def _of_field(self, owner: type, name: str) -> Origin | None:
        node, file = self._class(owner), _file_of_class(owner)
        if node is None or file is None:
            return None
        for statement in node.body:
            match statement:
                case ast.AnnAssign(target=ast.Name(id=found)) if found == name:
                    return Origin(file, statement.lineno)
        return None

    def _of_argument(self, function: Any, name: str) -> Origin | None:
        code = getattr(_unwrapped(function), "__code__", None)
        if (
            not isinstance(code, types.CodeType)
            or (node := self._function(code)) is None
        ):
            return None
        given = node.args
        for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs):
            if argument.arg == name:
                return Origin(code.co_filename, argument.lineno)
        return None

    def _class(self, owner: type) -> ast.ClassDef | None:
        file = _file_of_class(owner)
        tree = None if file is None else self._tree(file)
        wanted = [part for part in owner.__qualname__.split(".") if part != "<locals>"]
        return None if tree is None else _find_class(tree, wanted)

    def _function(
        self, code: Any
    ) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | None:
        tree = self._tree(code.co_filename)
        for node in () if tree is None else ast.walk(tree):
            if isinstance(node, ast.Lambda):
                name, first = "<lambda>", node.lineno
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                # Code begins where the first decorator does.
                decorators = [item.lineno for item in node.decorator_list]
                name, first = node.name, min([node.lineno, *decorators])
            else:
                continue
            if (name, first) == (code.co_name, code.co_firstlineno):
                return node
        return None

    def _tree(self, file: str) -> ast.Module | None:
        if file not in self._trees:
            self._trees[file] = _parsed(file)
        return self._trees[file]


def _parsed(file: str) -> ast.Module | None:
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _find_class(tree: ast.Module, names: list[str]) -> ast.ClassDef | None:
    """The class of a dotted name; the last one, where a name is defined twice."""
    at: ast.AST = tree
    for name in names:
        found = [node for node in _scopes(at) if getattr(node, "name", "") == name]
        if not found:
            return None
        at = found[-1]
    return at if isinstance(at, ast.ClassDef) else None


def _scopes(owner: ast.AST) -> Iterator[_Definition]:
    """Classes and functions directly inside, also below `if`, `try` and the like."""
    todo = list(reversed(list(ast.iter_child_nodes(owner))))
    while todo:
        node = todo.pop()
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
        elif isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            todo += reversed(list(ast.iter_child_nodes(node)))


def _unwrapped(called: Any) -> Any:
    """The function behind partials, bound methods and wrappers."""
    for _ in range(32):  # wrappers nest a few deep; some lead back to themselves
        inner: Callable[..., Any] | None
        if isinstance(called, functools.partial):
            inner = called.func
        elif isinstance(called, staticmethod | classmethod):
            inner = called.__func__
        else:
            inner = None if inspect.isclass(called) else _attribute(called)
        if inner is None:
            break
        called = inner
    return called


def _attribute(called: Any) -> Any:
    for name in ("__wrapped__", "__func__"):
        if (inner := getattr(called, name, None)) is not None:
            return inner
    return None


def _file_of_class(owner: type) -> str | None:
    module = sys.modules.get(owner.__module__)
    file = getattr(module, "__file__", None)
    return file if isinstance(file, str) and file.endswith(".py") else None
