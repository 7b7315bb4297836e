"""Text to a number, a word of a list, a dtype: values with nothing inside them."""

from __future__ import annotations

import decimal
import enum
import os
import pathlib
import re
import types
from collections.abc import Callable
from typing import Any

from fdlkit import suggest
from fdlkit.overrides import hints, syntax
from fdlkit.overrides.problems import BadTextError, listing, quote


def refused(text: str, annotation: Any, hint: str = "") -> BadTextError:
    """The problem that `text` is not what `annotation` wants."""
    wanted = hints.describe(annotation)
    return BadTextError(f"{quote(text)} is not {wanted}", (0, len(text)), hint=hint)


def _str(text: str) -> str:
    return text


def _int(text: str) -> int:
    plain = text.strip()
    try:
        if _BASED.fullmatch(plain) or _WHOLE.fullmatch(plain):
            return _printable(int(plain, 0 if _BASED.fullmatch(plain) else 10), text)
        number = decimal.Decimal(plain)
    except (ValueError, decimal.InvalidOperation):
        # Python itself refuses a decimal of too many digits.
        raise (
            syntax.too_large(text) if _WHOLE.fullmatch(plain) else refused(text, int)
        ) from None
    if not number.is_finite():
        raise refused(text, int)
    if number.adjusted() >= syntax.MOST_DIGITS:
        raise syntax.too_large(text)
    # Not by way of a float, of which most large ints are none: `1e23`.
    whole = int(number)
    if whole != number:
        raise refused(text, int, "an int has no fraction")
    return whole


def _printable(number: int, text: str) -> int:
    if syntax.is_too_large(number):
        raise syntax.too_large(text)
    return number


_WHOLE = re.compile(r"[+-]?\d+(_\d+)*")
_BASED = re.compile(r"[+-]?0[xob][\da-f]+(_[\da-f]+)*", re.IGNORECASE)


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise refused(text, float) from None


def boolean(text: str) -> bool:
    """`true`, `yes`, `1` and their opposites, in any case."""
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


READERS: dict[type, Callable[[str], Any]] = {
    str: _str,
    int: _int,
    float: _float,
    bool: boolean,
    complex: _complex,
    bytes: _bytes,
    pathlib.Path: pathlib.Path,
    pathlib.PurePath: pathlib.PurePath,
    os.PathLike: pathlib.Path,
}


def enum_member(text: str, annotation: type[enum.Enum]) -> enum.Enum:
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


def choice(text: str, choices: tuple[Any, ...]) -> Any:
    """One of the values of a `Literal`."""
    for one in choices:
        if text == one or text in (str(one), repr(one)):
            return one
    names = [str(one) for one in choices]
    raise BadTextError(
        f"{quote(text)} is not one of the choices",
        (0, len(text)),
        hint=suggest.hint(text, names) or "",
        more=(f"choices: {listing(names)}",),
    )


def dtype(text: str, annotation: Any) -> Any:
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
