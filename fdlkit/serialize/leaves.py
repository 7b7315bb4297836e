"""Leaves as JSON and back. Whatever JSON cannot say itself is an object."""

from __future__ import annotations

import base64
import binascii
import math
from typing import Any, Literal, get_args

from fdlkit.graph import arrays, values
from fdlkit.graph.model import Array, DType, LeafValue, Made, Member, Symbol
from fdlkit.serialize.faults import FormatError, a, pair, short

_ATOMS = frozenset({bool, int, str, type(None)})

_CONTAINERS = ("tuple", "list", "set", "frozenset")

_KINDS: dict[str, Literal["numpy", "scalar", "jax"]] = {
    kind: kind for kind in get_args(Literal["numpy", "scalar", "jax"])
}


def symbol_text(symbol: Symbol) -> str:
    """`optax:adamw`: the module to import, and the name in it."""
    return f"{symbol.module}:{symbol.qualname}"


def write(held: Any) -> Any:
    """A leaf as JSON data."""
    if type(held) in _ATOMS:
        return held
    if isinstance(held, float):
        return held if math.isfinite(held) else {"float": repr(held)}
    if isinstance(held, Symbol):
        return {"symbol": symbol_text(held)}
    if isinstance(held, Member):
        return {"enum": symbol_text(held.enum), "member": held.name}
    if isinstance(held, DType):
        return {"dtype": held.name}
    if isinstance(held, bytes):
        return {"bytes": _base64(held)}
    if isinstance(held, complex):
        return {"complex": [write(held.real), write(held.imag)]}
    if isinstance(held, Array):
        return _write_array(held)
    if isinstance(held, Made):
        return _write_made(held)
    return held


def symbol(data: Any, at: str) -> Symbol:
    """The symbol that `symbol_text` wrote.

    Raises:
      FormatError: It is none.
    """
    module, colon, qualname = a(str, data, at).partition(":")
    parts = [*module.split("."), *qualname.split(".")]
    if not colon or not all(part.isidentifier() for part in parts):
        raise FormatError(f"{at} has {short(data)}, which is no name of a callable")
    return Symbol(module, qualname)


def read(data: Any, at: str) -> LeafValue:
    """The leaf that `write` wrote.

    Args:
      data: JSON data.
      at: What to call the place in a message.

    Raises:
      FormatError: It is no leaf.
    """
    if type(data) in _ATOMS or type(data) is float:
        return data
    match data:
        case {"symbol": name, **rest} if not rest:
            return symbol(name, at)
        case {"enum": name, "member": str(member), **rest} if not rest:
            return Member(symbol(name, at), member)
        case {"dtype": str(name), **rest} if not rest:
            return DType(name)
        case {"bytes": str(text), **rest} if not rest:
            return _bytes(text, at)
        case {"complex": [real, imag], **rest} if not rest:
            return complex(_number(real, at), _number(imag, at))
        case {"float": _, **rest} if not rest:
            return _number(data, at)
        case {"array": _, **rest}:
            return _read_array(data, at)
        case {"value": _, **rest}:
            return _read_made(data, at, 0)
    raise FormatError(f"{at} has {short(data)} where a value belongs")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _bytes(text: str, at: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise FormatError(f"{at} has bytes that are not base64") from None


def _number(data: Any, at: str) -> float:
    if type(data) is float:
        return data
    if isinstance(data, dict) and data.get("float") in ("inf", "-inf", "nan"):
        return float(data["float"])
    raise FormatError(f"{at} has {short(data)} where a float belongs")


def _write_array(array: Array) -> dict[str, Any]:
    data: dict[str, Any] = {
        "array": array.kind,
        "dtype": array.dtype,
        "shape": list(array.shape),
        "data": _base64(array.data),
    }
    return data | ({"weak": True} if array.weak else {})


def _read_array(data: dict[str, Any], at: str) -> Array:
    weak = data.get("weak", False)
    if set(data) - {"weak"} != {"array", "dtype", "shape", "data"}:
        raise FormatError(f"{at} has {short(data)}, which is no array")
    kind = _KINDS.get(a(str, data["array"], at))
    shape = tuple(a(int, size, at) for size in a(list, data["shape"], at))
    dtype = a(str, data["dtype"], at)
    if kind is None or min(shape, default=0) < 0 or len(shape) > arrays.MAX_ELEMENTS:
        raise FormatError(f"{at} has {short(data)}, which is no array")
    if arrays.item_bytes(dtype) is None:
        raise FormatError(f"{at} has an array of an unknown dtype, {short(dtype)}")
    found = Array(
        kind, dtype, shape, _bytes(a(str, data["data"], at), at), a(bool, weak, at)
    )
    if not arrays.fits(found):
        raise FormatError(
            f"{at} has an array of {len(found.data)} bytes, which is not what "
            f"{dtype} of the shape {short(list(shape))} takes, or too many"
        )
    if (found.kind != "jax" and found.weak) or (found.kind == "scalar" and shape):
        raise FormatError(f"{at} has {short(data)}, which is no array")
    return found


def _write_made(made: Made) -> dict[str, Any]:
    # Of few levels, see `values`.
    plain = [write(value) for key, value in made.arguments if isinstance(key, int)]
    if made.type.module == "builtins" and made.type.qualname in _CONTAINERS:
        return {made.type.qualname: plain}
    if made.type.module == "builtins" and made.type.qualname == "dict":
        return {"dict": [entry["tuple"] for entry in plain]}
    named = {key: write(v) for key, v in made.arguments if isinstance(key, str)}
    data: dict[str, Any] = {"value": symbol_text(made.type)}
    if plain:
        data["positional"] = plain
    return data | ({"arguments": named} if named else {})


def _read_made(data: dict[str, Any], at: str, level: int) -> Made:
    if not set(data) <= {"value", "positional", "arguments"}:
        raise FormatError(f"{at} has {short(data)} where a value belongs")
    plain = a(list, data.get("positional", []), at)
    named = a(dict, data.get("arguments", {}), at)
    made_by = symbol(data["value"], at)
    if made_by.module == "builtins" and made_by.qualname in (*_CONTAINERS, "dict"):
        raise FormatError(f"{at} has {short(data)}, which is a container")
    return Made(
        made_by,
        (
            *((n, _part(value, at, level + 1)) for n, value in enumerate(plain)),
            *((key, _part(value, at, level + 1)) for key, value in named.items()),
        ),
    )


def _part(data: Any, at: str, level: int) -> LeafValue:
    """What a value is made of: a leaf, or a container, which is a leaf here too."""
    if level > values.MAX_LEVELS:
        raise FormatError(f"{at} has a value of too many levels")
    if not isinstance(data, dict):
        return read(data, at)
    if "value" in data:
        return _read_made(data, at, level)
    for kind in _CONTAINERS:
        if set(data) == {kind}:
            parts = [_part(part, at, level + 1) for part in a(list, data[kind], at)]
            return _container(kind, parts)
    if set(data) == {"dict"}:
        entries = []
        for entry in a(list, data["dict"], at):
            key, value = pair(entry, at)
            parts = [_part(key, at, level + 2), _part(value, at, level + 2)]
            entries.append(_container("tuple", parts))
        return _container("dict", entries)
    return read(data, at)


def _container(kind: str, parts: list[Any]) -> Made:
    return Made(Symbol("builtins", kind), tuple(enumerate(parts)))
