"""Text to a value, by the annotation of the parameter that it is for.

The annotation decides and nothing is guessed first: where a string is wanted,
`None` is a string. Inside brackets stand Python's own literals, and each element
is typed in its turn. Text is parsed, never evaluated.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import enum
import inspect
import keyword
import math
import os
import pathlib
import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import fiddle as fdl

from fdlkit import suggest
from fdlkit.graph import signatures
from fdlkit.overrides import hints, symbols, syntax
from fdlkit.overrides.problems import BadTextError, listing, quote


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
      BadTextError: The annotation refuses the text; columns count from its start.
    """
    annotation = hints.plain(wanted.annotation)
    if hints.is_dtype(annotation, wanted.name):
        return _dtype(text, annotation)
    if (members := hints.union_members(annotation)) is not None:
        return _union(text, wanted, members)
    if hints.says_nothing(annotation):
        return _untyped(text, wanted)
    if annotation is types.NoneType:
        if text != "None":
            raise refused(text, annotation)
        return None
    if typing.get_origin(annotation) is typing.Literal:
        return _choice(text, typing.get_args(annotation))
    if hints.container_of(annotation) is not None:
        with _blanks_before(text):
            text = text.strip()
            return _container(syntax.expression(text), text, wanted, annotation)
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


def refused(text: str, annotation: Any, hint: str = "") -> BadTextError:
    """The problem that `text` is not what `annotation` wants."""
    wanted = hints.describe(annotation)
    return BadTextError(f"{quote(text)} is not {wanted}", (0, len(text)), hint=hint)


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
        value = syntax.literal(syntax.expression(text.strip()))
    except (BadTextError, ValueError):
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
    raise BadTextError(
        f"{quote(text)} is not a {annotation.__name__}",
        (0, len(text)),
        hint=suggest.hint(text, members) or "",
        more=(f"choices: {listing(members)}",),
    )


def _choice(text: str, choices: tuple[Any, ...]) -> Any:
    for choice in choices:
        if text == choice or text in (str(choice), repr(choice)):
            return choice
    names = [str(choice) for choice in choices]
    raise BadTextError(
        f"{quote(text)} is not one of the choices",
        (0, len(text)),
        hint=suggest.hint(text, names) or "",
        more=(f"choices: {listing(names)}",),
    )


def _dtype(text: str, annotation: Any) -> Any:
    """`jnp.bfloat16` and its like: what a config's author writes for a dtype."""
    members = hints.union_members(annotation) or ()
    if text == "None" and (types.NoneType in members or annotation is Any):
        return None
    import jax.numpy as jnp  # only here: a config of anything else needs no JAX

    name = re.sub(r"^(jnp|np|numpy|jax\.numpy|ml_dtypes)\.", "", text.strip())
    known = [known for known in DTYPES if hasattr(jnp, known)]
    if name in ("bool", *known):
        return getattr(jnp, "bool_" if name == "bool" else name)
    raise BadTextError(
        f"{quote(text)} is not a dtype",
        (0, len(text)),
        hint=suggest.hint(name, known) or "",
        more=(f"choices: {listing(known)}",),
    )


DTYPES = [
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
    others.sort(key=lambda m: 2 if hints.says_nothing(m) else int(m is str))
    problems = []
    for member in others:
        try:
            return read(text, dataclasses.replace(wanted, annotation=member))
        except BadTextError as problem:
            problems.append(problem)
    # A problem inside the text tells more than that the whole of it does not fit.
    inside = [p for p in problems if p.span not in (None, (0, len(text)))]
    if inside or len(problems) == 1:
        raise (inside or problems)[0]
    hint = next((problem.hint for problem in problems if problem.hint), "")
    raise refused(text, wanted.annotation, hint)


def _untyped(text: str, wanted: Wanted) -> Any:
    """A literal, else the text; a name where a node or a function stands now."""
    try:
        return syntax.literal(syntax.expression(text.strip()))
    except (BadTextError, ValueError):
        pass
    if isinstance(wanted.current, fdl.Buildable) or (
        wanted.current is not None and symbols.is_callable_symbol(wanted.current)
    ):
        return _symbol(text, wanted, Callable)
    return text


def _symbol(text: str, wanted: Wanted, annotation: Any) -> Any:
    """A function or class by its name, or a new node for `Name(argument=value)`."""
    with _blanks_before(text):
        text = text.strip()
        scope = wanted.scope
        if isinstance(wanted.current, fdl.Buildable):
            scope = scope.beside(fdl.get_callable(wanted.current))
        call = syntax.call(text)
        name = text if call is None else call.name
        if not symbols.is_name(name) or keyword.iskeyword(name):
            raise refused(text, annotation, "write Name or Name(argument=value)")
        found = scope.find(name)
        if not symbols.is_callable_symbol(found):
            raise BadTextError(
                f"{quote(name)} is a built {type(found).__name__}",
                (0, len(name)),
                hint="name its function or class: Name(argument=value)",
            )
        if call is not None:
            return _node(found, arguments(call, found, scope), text)
        if isinstance(wanted.current, fdl.Buildable):
            return Symbol(found)
        return found if hints.wants_itself(annotation, found) else Symbol(found)


def arguments(
    call: syntax.Call,
    function: Any,
    scope: symbols.Scope,
    *,
    skip: int = 0,
) -> dict[str, Any]:
    """The typed arguments of a call; the first `skip` parameters are not for users.

    Raises:
      BadTextError: An argument is unknown or refused; columns count in the call's text.
    """
    try:
        known = dict(list(signatures.parameters(function).items())[skip:])
        open_ended = signatures.takes_any(function)
    except (TypeError, ValueError) as error:
        what = f"{call.name} does not say what arguments it takes"
        raise BadTextError(what, (0, len(call.name))) from error
    found = {}
    for name, columns, node in call.keywords:
        parameter = known.get(name)
        if parameter is None and not open_ended:
            raise BadTextError(
                f"{call.name} has no parameter {quote(name)}",
                columns,
                hint=suggest.hint(name, known) or "",
                more=(f"parameters: {listing(known)}",),
            )
        wanted = Wanted(Any, scope, name)
        if parameter is not None:
            default = (
                None if parameter.default is signatures.MISSING else (parameter.default)
            )
            wanted = Wanted(parameter.annotation, scope, name, default)
        found[name] = _element(node, call.text, wanted)
    return found


def _node(function: Any, given: dict[str, Any], text: str) -> fdl.Config:
    try:
        return fdl.Config(function, **given)
    except (TypeError, ValueError) as error:
        raise BadTextError(f"cannot make a Config: {error}", (0, len(text))) from error


def _container(
    node: ast.expr, text: str, wanted: Wanted, annotation: Any
) -> list | tuple | set | frozenset | dict:
    """A bracketed literal whose elements are typed by the annotation's own."""
    kind = hints.container_of(annotation)
    start, end = syntax.span(node, text)
    if isinstance(node, ast.Call) and ast.unparse(node) == "set()":
        node = ast.Set(elts=[])  # an empty set has no other spelling
    if kind is dict:
        if not isinstance(node, ast.Dict) or None in node.keys:
            hint = "write {'key': value}"
            raise refused(text[start:end], annotation, hint).shifted(start)
        key_type, value_type = hints.element_types(annotation, len(node.keys))
        keys = [_element(k, text, wanted.of(key_type)) for k in node.keys if k]
        values = [_element(v, text, wanted.of(value_type)) for v in node.values]
        return _made(dict, zip(keys, values, strict=True), (start, end))
    if not isinstance(node, ast.List | ast.Tuple | ast.Set):
        raise refused(text[start:end], annotation, "write [value, value]").shifted(
            start
        )
    element_types = hints.element_types(annotation, len(node.elts))
    if len(element_types) != len(node.elts):
        hint = f"it has {len(element_types)} elements, not {len(node.elts)}"
        raise refused(text[start:end], annotation, hint).shifted(start)
    elements = [
        _element(element, text, wanted.of(type_))
        for element, type_ in zip(node.elts, element_types, strict=True)
    ]
    if kind is object:  # any sequence: as it was written
        kind = tuple if isinstance(node, ast.Tuple) else list
    assert kind is not None
    return _made(kind, elements, (start, end))


def _made(kind: type, elements: Iterable[Any], span: tuple[int, int]) -> Any:
    try:
        return kind(elements)
    except TypeError as error:  # a key, or an element of a set, that has no hash
        raise BadTextError(str(error), span) from error


def _element(node: ast.expr, text: str, wanted: Wanted) -> Any:
    """One element or argument, written as Python would write it."""
    start, end = syntax.span(node, text)
    source = text[start:end]
    annotation = hints.plain(wanted.annotation)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        if hints.takes_str(annotation) and not hints.is_dtype(annotation, wanted.name):
            return node.value
        if hints.takes_only_numbers(annotation):
            raise refused(source, annotation).shifted(start)
        source, start = node.value, start + 1
    elif annotation is str and not isinstance(node, ast.Name):
        raise refused(source, annotation, "quote it").shifted(start)
    elif hints.says_nothing(annotation) and wanted.current is None:
        try:
            return syntax.literal(node)
        except ValueError:
            raise refused(source, Any, "quote it").shifted(start) from None
    with _shifted(start):
        value = read(source, wanted)
    if isinstance(value, Symbol):
        return _node(value.callable, {}, source)
    return value


def _blanks_before(text: str) -> contextlib.AbstractContextManager[None]:
    return _shifted(len(text) - len(text.lstrip()))


@contextlib.contextmanager
def _shifted(columns: int) -> Iterator[None]:
    """Problems inside are told in the columns of the larger text."""
    try:
        yield
    except BadTextError as problem:
        raise problem.shifted(columns) from problem.__cause__
