"""Text to a value, by the annotation of the parameter that it is for.

The annotation decides and nothing is guessed first: where a string is wanted,
`None` is a string. Inside brackets stand Python's own literals, and each element
is typed in its turn. Text is parsed, never evaluated.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import math
import os
import pathlib
import re
import types
import typing
import warnings
from collections.abc import Callable
from typing import Any

import fiddle as fdl

from fdlkit import suggest
from fdlkit.overrides import annotations, calls, symbols
from fdlkit.overrides.problems import BadText


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What a value is for.

    Attributes:
      annotation: The parameter's annotation; `inspect.Parameter.empty` if none.
      scope: Where names are looked up.
      name: The parameter's name: `dtype` and `..._dtype` say what `Any` does not.
      current: What stands there now. A node or a function tells what is wanted
        where the annotation does not.
    """

    annotation: Any
    scope: symbols.Scope
    name: str = ""
    current: Any = None

    def of(self, annotation: Any) -> Wanted:
        """A part of this place: a union's member, an element."""
        return Wanted(annotation, self.scope)


def read(text: str, wanted: Wanted) -> Any:
    """The value that `text` means where `wanted` stands.

    The bare name of a class or function gives a `Symbol` where a node may stand, for
    the caller to swap a node's callable or to make a new node.

    Raises:
      BadText: The annotation refuses the text; columns count from its start.
    """
    annotation = annotations.plain(wanted.annotation)
    if annotations.is_dtype(annotation, wanted.name):
        return _dtype(text, annotation)
    if (members := annotations.union_members(annotation)) is not None:
        return _union(text, wanted, members)
    if annotations.says_nothing(annotation):
        return _untyped(text, wanted)
    if annotation is types.NoneType:
        if text != "None":
            raise refused(text, annotation)
        return None
    if typing.get_origin(annotation) is typing.Literal:
        return _choice(text, typing.get_args(annotation))
    if annotations.container_of(annotation) is not None:
        return _container(syntax(text), text, wanted, annotation)
    if inspect.isclass(annotation):
        if reader := _SCALARS.get(annotation):
            return reader(text)
        if issubclass(annotation, enum.Enum):
            return _enum(text, annotation)
    return _symbol(text, wanted, annotation)


@dataclasses.dataclass(frozen=True)
class Symbol:
    """A function or class named where a node may stand."""

    callable: Any


def refused(text: str, annotation: Any, hint: str = "") -> BadText:
    """The problem that `text` is not what `annotation` wants."""
    wanted = annotations.describe(annotation)
    return BadText(f"'{text}' is not {wanted}", (0, len(text)), hint=hint)


def syntax(text: str) -> ast.expr:
    """The expression that a text spells; columns are as in the text.

    Raises:
      BadText: The text is no Python expression.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        why = error.msg if isinstance(error, SyntaxError) else "too deeply nested"
        raise BadText(
            f"'{text}' is not a Python literal", (0, len(text)), hint=why
        ) from error


def literal(text: str) -> Any:
    """The Python literal that a text spells.

    Raises:
      ValueError: It spells none.
    """
    try:
        return ast.literal_eval(syntax(text))
    except (BadText, TypeError, MemoryError, RecursionError, SyntaxError) as error:
        raise ValueError(f"{text!r} is not a literal") from error


def _str(text: str) -> str:
    return text


def _int(text: str) -> int:
    plain = text.strip()
    try:
        if _BASED.fullmatch(plain):
            return int(plain, 0)
        if _WHOLE.fullmatch(plain):
            return int(plain)
        number = float(plain)
    except ValueError:
        raise refused(text, int) from None
    if not math.isfinite(number):
        raise refused(text, int)
    if not number.is_integer():
        raise refused(text, int, "an int has no fraction")
    return int(number)


_WHOLE = re.compile(r"[+-]?\d+(_\d+)*")
_BASED = re.compile(r"[+-]?0[xob][\da-f]+(_[\da-f]+)*", re.IGNORECASE)


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise refused(text, float) from None


def _bool(text: str) -> bool:
    value = _BOOLS.get(text.strip().lower())
    if value is None:
        raise refused(text, bool, "write true or false")
    return value


_BOOLS = {"true": True, "yes": True, "1": True}
_BOOLS |= {"false": False, "no": False, "0": False}


def _complex(text: str) -> complex:
    try:
        return complex(text)
    except ValueError:
        raise refused(text, complex) from None


def _bytes(text: str) -> bytes:
    try:
        value = literal(text)
    except ValueError:
        value = None
    if not isinstance(value, bytes):
        raise refused(text, bytes, "write b'...'")
    return value


_SCALARS: dict[type, Callable[[str], Any]] = {
    str: _str,
    int: _int,
    float: _float,
    bool: _bool,
    complex: _complex,
    bytes: _bytes,
    pathlib.Path: pathlib.Path,
    pathlib.PurePath: pathlib.PurePath,
    os.PathLike: pathlib.Path,
}


def _enum(text: str, annotation: type[enum.Enum]) -> enum.Enum:
    """A member by its name or its value, in any case; exact spelling goes first."""
    members = annotation.__members__
    spellings = [(name, member) for name, member in members.items()]
    spellings += [(str(member.value), member) for member in members.values()]
    text = text.removeprefix(f"{annotation.__name__}.")
    for spelling, member in spellings:
        if spelling == text:
            return member
    for spelling, member in spellings:
        if spelling.lower() == text.lower():
            return member
    raise BadText(
        f"'{text}' is not a {annotation.__name__}",
        (0, len(text)),
        hint=suggest.hint(text, members) or "",
        more=(f"choices: {', '.join(members)}",),
    )


def _choice(text: str, choices: tuple[Any, ...]) -> Any:
    for choice in choices:
        if text == choice or text in (str(choice), repr(choice)):
            return choice
    names = [str(choice) for choice in choices]
    raise BadText(
        f"'{text}' is not one of the choices",
        (0, len(text)),
        hint=suggest.hint(text, names) or "",
        more=(f"choices: {', '.join(names)}",),
    )


def _dtype(text: str, annotation: Any) -> Any:
    """`jnp.bfloat16` and its like: what a config's author writes for a dtype."""
    members = annotations.union_members(annotation) or ()
    if text == "None" and (types.NoneType in members or annotation is Any):
        return None
    import jax.numpy as jnp  # only here: a config of anything else needs no JAX

    name = re.sub(r"^(jnp|np|numpy|jax\.numpy|ml_dtypes)\.", "", text.strip())
    known = [known for known in _DTYPES if hasattr(jnp, known)]
    if name in ("bool", *known):
        return getattr(jnp, "bool_" if name == "bool" else name)
    raise BadText(
        f"'{text}' is not a dtype",
        (0, len(text)),
        hint=suggest.hint(name, known) or "",
        more=(f"choices: {', '.join(known)}",),
    )


_DTYPES = [
    *("bfloat16", "float32", "float16", "float64", "float8_e4m3fn", "float8_e5m2"),
    *("int32", "int64", "int8", "int16", "int4", "uint32", "uint64", "uint8"),
    *("uint16", "uint4", "bool_", "complex64", "complex128"),
]


def _union(text: str, wanted: Wanted, members: tuple[Any, ...]) -> Any:
    """The first member that takes the text: None, then others, `str`, `Any` last."""
    others = [m for m in members if m is not types.NoneType]
    if len(others) < len(members):
        if text == "None":
            return None
        if text in ("'None'", '"None"') and str in others:
            return "None"
    others.sort(key=lambda m: 2 if annotations.says_nothing(m) else int(m is str))
    problems = []
    for member in others:
        try:
            return read(text, dataclasses.replace(wanted, annotation=member))
        except BadText as problem:
            problems.append(problem)
    if len(problems) == 1:
        raise problems[0]
    hint = next((problem.hint for problem in problems if problem.hint), "")
    raise refused(text, wanted.annotation, hint)


def _untyped(text: str, wanted: Wanted) -> Any:
    """A literal, else the text; a name where a node or a function stands now."""
    try:
        return literal(text)
    except ValueError:
        pass
    if isinstance(wanted.current, fdl.Buildable) or (
        wanted.current is not None and symbols.is_callable_symbol(wanted.current)
    ):
        return _symbol(text, wanted, Any)
    return text


def _symbol(text: str, wanted: Wanted, annotation: Any) -> Any:
    """A function or class by its name, or a new node for `Name(argument=value)`."""
    text = text.strip()
    scope = wanted.scope
    if isinstance(wanted.current, fdl.Buildable):
        scope = scope.beside(fdl.get_callable(wanted.current))
    call = calls.split(text)
    name = text if call is None else call.name
    if not symbols.is_name(name):
        raise refused(text, annotation, "write Name or Name(argument=value)")
    found = scope.find(name)
    if not symbols.is_callable_symbol(found):
        raise BadText(
            f"'{name}' is a built {type(found).__name__}, which a config cannot hold",
            (0, len(name)),
            hint="name its class or function: Name(argument=value)",
        )
    if call is not None:
        return fdl.Config(found, **calls.arguments(call, found, scope))
    if isinstance(wanted.current, fdl.Buildable):
        return Symbol(found)
    return found if annotations.wants_a_callable(annotation) else Symbol(found)


def _container(
    node: ast.expr, text: str, wanted: Wanted, annotation: Any
) -> list | tuple | set | frozenset | dict:
    """A bracketed literal whose elements are typed by the annotation's own."""
    kind = annotations.container_of(annotation)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        # `set()` is the only spelling that an empty set has.
        if node.func.id == "set" and not node.args and not node.keywords:
            node = ast.copy_location(ast.Set(elts=[]), node)
    if kind is dict:
        if not isinstance(node, ast.Dict) or None in node.keys:
            raise _at(node, text, refused(text, annotation, "write {'key': value}"))
        key, value = annotations.element_types(annotation, len(node.keys))
        return {
            _element(k, text, wanted.of(key)): _element(v, text, wanted.of(value))
            for k, v in zip(node.keys, node.values, strict=True)
            if k is not None
        }
    if not isinstance(node, ast.List | ast.Tuple | ast.Set):
        raise _at(node, text, refused(text, annotation, "write [value, value]"))
    types_ = annotations.element_types(annotation, len(node.elts))
    if len(types_) != len(node.elts):
        problem = refused(text, annotation, f"it has {len(types_)} elements")
        raise _at(node, text, problem)
    values = [
        _element(element, text, wanted.of(type_))
        for element, type_ in zip(node.elts, types_, strict=True)
    ]
    if kind is None:  # a Sequence: as it was written
        kind = {ast.List: list, ast.Tuple: tuple, ast.Set: set}[type(node)]
    return kind(values)


def _element(node: ast.expr, text: str, wanted: Wanted) -> Any:
    """One element, written as Python would write it."""
    source = ast.get_source_segment(text, node) or ""
    start = _columns(node, text)[0]
    annotation = annotations.plain(wanted.annotation)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        if annotations.takes_str(annotation):
            return node.value
        if annotations.takes_numbers_only(annotation):
            raise refused(source, annotation).shifted(start)
        source, start = node.value, start + 1
    elif annotation is str:
        raise refused(source, annotation, "quote it").shifted(start)
    elif annotations.says_nothing(annotation):
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError, RecursionError, MemoryError):
            raise refused(source, "a Python literal", "quote it").shifted(
                start
            ) from None
    try:
        return read(source, wanted)
    except BadText as problem:
        raise problem.shifted(start) from problem
