"""A file of plain constructor calls, read as the config that would build the same.

`fdlkit codegen --style=build` writes such files. They are not run: each call in them
becomes a node, each variable a node or a value that may stand in several places. What
a person has added that is no such call is refused with its line.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import functools
import operator
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any

import fiddle as fdl
from fiddle import daglish

from fdlkit import tracebacks
from fdlkit.errors import UserError
from fdlkit.graph import origins

# The function that such a file has, what the names of its parts begin with, and what
# its docstring says, which holds the command that wrote it.
FUNCTION = "build"
_PART = "build_"
_MARK = "--style=build"

# What the file defines itself where arguments are made anew at each call.
_FRESH, _PARTIAL_WITH_FRESH = "Fresh", "partial_with_fresh"

# Modules whose calls make values: what they return is no part of a config.
_MAKERS = frozenset({"numpy", "ml_dtypes", *sys.stdlib_module_names})
_MAKERS_OF_JAX = ("array", "asarray", "dtype", "zeros", "wrap_key_data")

_OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.BitOr: operator.or_,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mult: operator.mul,
    ast.Sub: operator.sub,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}


def is_of_calls(docstring: str | None) -> bool:
    """Whether a module with that docstring is such a file."""
    return docstring is not None and _MARK in docstring


def read(module: types.ModuleType, file: str, tree: ast.Module) -> Any:
    """The config of a file.

    Args:
      module: The file as a module, for what it imports.
      file: The file, for messages and as the origin of values.
      tree: Its syntax.

    Raises:
      UserError: There is something in it that is no plain call.
    """
    reader = _Reader(module, file, tree)
    try:
        return reader.call(FUNCTION, [], {})
    except RecursionError as error:
        shown = tracebacks.shown_path(file)
        raise UserError(f"{shown} is nested too deeply to be read") from error


@dataclasses.dataclass(frozen=True)
class _Maker:
    """A function inside a function, which makes one value anew at each call."""

    function: ast.FunctionDef
    scope: Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class _Anew:
    """An argument of the file's `Fresh`."""

    value: Any


class _Reader:
    def __init__(self, module: types.ModuleType, file: str, tree: ast.Module) -> None:
        self._module = module
        self._file = file
        self._functions = {
            node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)
        }
        self._is_making = False

    def call(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """What a function of the file returns."""
        node = self._functions[name]
        taken = [argument.arg for argument in node.args.args]
        given = dict(zip(taken, args, strict=False)) | kwargs
        if set(given) != set(taken) or len(args) > len(taken):
            raise self._refused(
                node, f"{name}() is given other arguments than it takes"
            )
        return self._body(node, dict(given))

    def _body(self, node: ast.FunctionDef, scope: dict[str, Any]) -> Any:
        for statement in node.body:
            match statement:
                case ast.Expr(value=ast.Constant(value=str())):
                    pass  # a docstring
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    scope[name] = self._value(value, scope)
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    scope[name] = self._value(value, scope)
                case ast.FunctionDef(name=name) if not _has_parameters(statement):
                    scope[name] = _Maker(statement, scope)
                case ast.Return(value=ast.expr() as value):
                    return self._value(value, scope)
                case _:
                    raise self._refused(
                        statement, "is neither `name = value` nor a return"
                    )
        raise self._refused(node, f"{node.name}() returns nothing")

    def _value(self, node: ast.expr, scope: Mapping[str, Any]) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return self._named(node, name, scope)
            case ast.Attribute(value=of, attr=name):
                return self._attribute(node, self._value(of, scope), name)
            case ast.Call():
                return self._call(node, scope)
            case ast.List(elts=parts):
                return [self._value(part, scope) for part in parts]
            case ast.Tuple(elts=parts):
                return tuple([self._value(part, scope) for part in parts])
            case ast.Set(elts=parts):
                return {self._value(part, scope) for part in parts}
            case ast.Dict(keys=keys, values=values) if None not in keys:
                pairs = zip(keys, values, strict=True)
                return {
                    self._value(key, scope): self._value(value, scope)
                    for key, value in pairs
                    if key is not None
                }
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                sides = self._value(left, scope), self._value(right, scope)
                return self._computed(node, _OPERATORS[type(op)], sides)
            case ast.UnaryOp(op=op, operand=of) if type(op) in _OPERATORS:
                side = self._value(of, scope)
                return self._computed(node, _OPERATORS[type(op)], (side,))
            case ast.Subscript(value=of, slice=key):
                sides = self._value(of, scope), self._value(key, scope)
                return self._computed(node, operator.getitem, sides)
            case ast.Lambda():
                return self._lambda(node, scope)
        raise self._refused(
            node, f"`{_short(node)}` is no name, number, container or call"
        )

    def _named(self, node: ast.expr, name: str, scope: Mapping[str, Any]) -> Any:
        if name in scope:
            return scope[name]
        if hasattr(self._module, name):
            return getattr(self._module, name)
        if hasattr(builtins, name):
            return getattr(builtins, name)
        raise self._refused(node, f"`{name}` is not defined")

    def _attribute(self, node: ast.expr, of: Any, name: str) -> Any:
        if isinstance(of, fdl.Buildable):
            raise self._refused(node, f"`{_short(node)}` is of what is not made yet")
        try:
            return getattr(of, name)
        except AttributeError as error:
            raise self._refused(node, f"`{_short(node)}`: {error}") from error

    def _computed(
        self, node: ast.expr, compute: Callable[..., Any], sides: tuple[Any, ...]
    ) -> Any:
        if any(isinstance(side, fdl.Buildable) for side in sides):
            raise self._refused(
                node, f"`{_short(node)}` computes with what is not made yet"
            )
        return self._called(node, compute, sides)

    def _called(
        self, node: ast.expr, compute: Callable[..., Any], sides: tuple[Any, ...]
    ) -> Any:
        try:
            return compute(*sides)
        except Exception as error:
            what = f"`{_short(node)}`: {type(error).__name__}: {error}"
            raise self._refused(node, what) from error

    def _call(self, node: ast.Call, scope: Mapping[str, Any]) -> Any:
        called = self._value(node.func, scope)
        args = [self._value(argument, scope) for argument in node.args]
        kwargs: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self._value(keyword.value, scope)
            kwargs |= {keyword.arg: value} if keyword.arg is not None else value
        name = getattr(called, "__name__", "")
        is_own = getattr(self._module, name, None) is called
        if is_own and name in self._functions and name.startswith(_PART):
            return self.call(name, args, kwargs)
        if is_own and name == _FRESH:
            return _Anew(*args, **kwargs)
        if called is functools.partial or (is_own and name == _PARTIAL_WITH_FRESH):
            return self._node(node, fdl.Partial, args, kwargs)
        if self._is_making and not args and not kwargs:
            return self._anew(node, called)
        if (is_own and name in self._functions) or _makes_values(called):
            return self._made(node, called, args, kwargs)
        return self._node(node, fdl.Config, [called, *args], kwargs)

    def _made(
        self, node: ast.Call, called: Any, args: list[Any], kwargs: dict[str, Any]
    ) -> Any:
        """A value that is no part of a config, such as an array."""
        if _is_named_tuple(called):
            return self._called(node, functools.partial(called, **kwargs), tuple(args))
        if called is dict or any(map(_holds_node, (*args, *kwargs.values()))):
            return self._node(node, fdl.Config, [called, *args], kwargs)
        return self._computed(node, functools.partial(called, **kwargs), tuple(args))

    def _node(
        self,
        node: ast.Call,
        kind: type[fdl.Buildable],
        args: list[Any],
        kwargs: dict[str, Any],
    ) -> fdl.Buildable:
        made = [self._argument(node, value) for value in args]
        named = {name: self._argument(node, value) for name, value in kwargs.items()}
        try:
            with origins.written_at(self._file, node.lineno):
                return kind(*made, **named)
        except (TypeError, AttributeError, ValueError) as error:
            raise self._refused(node, f"`{_short(node)}`: {error}") from error

    def _argument(self, node: ast.expr, value: Any) -> Any:
        if isinstance(value, _Anew):
            return self._anew(node, value.value)
        if isinstance(value, _Maker):
            raise self._refused(
                node, f"only {_FRESH} takes a function such as {value.function.name}"
            )
        return value

    def _anew(self, node: ast.expr, make: Any) -> Any:
        """What stands in a config for what a function makes anew."""
        if isinstance(make, fdl.Partial):
            return fdl.cast(fdl.ArgFactory, make)
        if isinstance(make, _Maker):
            before, self._is_making = self._is_making, True
            try:
                return self._body(make.function, dict(make.scope))
            finally:
                self._is_making = before
        if isinstance(make, fdl.Buildable) or not callable(make):
            raise self._refused(node, f"{_FRESH} takes a function")
        return fdl.ArgFactory(make)

    def _lambda(self, node: ast.Lambda, scope: Mapping[str, Any]) -> Any:
        if any(isinstance(n, ast.Name) and n.id in scope for n in ast.walk(node)):
            raise self._refused(
                node, "a lambda uses a variable of the function around it"
            )
        code = compile(ast.Expression(node), self._file, "eval", dont_inherit=True)
        return eval(code, vars(self._module))

    def _refused(self, node: ast.AST, what: str) -> UserError:
        line = getattr(node, "lineno", 0)
        return UserError(
            f"{tracebacks.shown_path(self._file)}:{line}: {what}",
            "  what fdlkit codegen --style=build wrote is read as a config, not run:",
            "  names, numbers, containers, calls, and functions that return these",
        )


def _is_named_tuple(called: Any) -> bool:
    return isinstance(called, type) and daglish.is_namedtuple_subclass(called)


def _makes_values(called: Any) -> bool:
    if _is_named_tuple(called):
        return True
    module = getattr(called, "__module__", None)
    package = module.partition(".")[0] if isinstance(module, str) else "builtins"
    name = getattr(called, "__name__", "")
    if package in ("jax", "jaxlib"):
        return name in _MAKERS_OF_JAX or name == "PartitionSpec"
    return package in _MAKERS or package in ("etils",)


def _holds_node(value: Any) -> bool:
    todo = [value]
    while todo:
        part = todo.pop()
        if isinstance(part, fdl.Buildable):
            return True
        if isinstance(part, dict):
            todo += part.values()
        elif isinstance(part, list | tuple | set | frozenset):
            todo += part
    return False


def _has_parameters(node: ast.FunctionDef) -> bool:
    args = node.args
    return bool(
        args.args or args.posonlyargs or args.kwonlyargs or args.vararg or args.kwarg
    )


def _short(node: ast.AST) -> str:
    text = ast.unparse(node)
    return text if len(text) <= 60 else f"{text[:59]}…"
