"""Small arrays as text, by their bytes alone: NumPy is not needed to show one."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator

from fdlkit.graph.arrays import item_bytes
from fdlkit.graph.model import Array

# By dtype: the `struct` format of a number in it, and the digits that always tell it.
_INTEGERS = {
    **{f"int{8 * size}": code for size, code in zip((1, 2, 4, 8), "bhiq", strict=True)},
    **{
        f"uint{8 * size}": code for size, code in zip((1, 2, 4, 8), "BHIQ", strict=True)
    },
}
_FLOATS = {"float16": ("<e", 5), "float32": ("<f", 9), "float64": ("<d", 17)}
_PARTS = {"complex64": ("float32", 4), "complex128": ("float64", 8)}

# Kinds of NumPy's own spelling that are shown as what they are natively.
_KINDS = {"f": "float", "i": "int", "u": "uint", "c": "complex"}


def text(array: Array) -> str:
    """`array([1.0, 0.5], float32)`, `jnp.array(3, int32)`, `float32(0.5)`."""
    elements = list(_elements(array))
    if array.kind == "scalar":
        return f"{array.dtype}({elements[0] if elements else ''})"
    name = "jnp.array" if array.kind == "jax" else "array"
    weak = ", weak_type=True" if array.weak else ""
    return f"{name}({_nested(elements, array.shape)}, {array.dtype}{weak})"


def _nested(elements: list[str], shape: tuple[int, ...]) -> str:
    """The elements in brackets, an axis a pair; `zeros(0, 3)` says more than `[]`."""
    if 0 in shape:
        return f"shape={shape!r}"
    level = elements
    for length in reversed(shape):
        rows = (level[at : at + length] for at in range(0, len(level), length))
        level = [f"[{', '.join(row)}]" for row in rows]
    return level[0]


def _elements(array: Array) -> Iterator[str]:
    size = item_bytes(array.dtype)
    if not size:
        return
    element = _reader(array.dtype, size)
    for at in range(0, len(array.data), size):
        yield element(array.data[at : at + size])


def _reader(dtype: str, size: int) -> Callable[[bytes], str]:
    """What shows one element of a dtype."""
    if dtype[0] in "<>|":
        return _spelt_reader(dtype, size)
    if dtype == "bool":
        return lambda raw: str(raw != b"\0")
    if dtype == "bfloat16":
        return lambda raw: _shortest(b"\0\0" + raw, "<f", 4, _packed_bfloat16)
    if dtype in _INTEGERS:
        code = f"<{_INTEGERS[dtype]}"
        return lambda raw: str(struct.unpack(code, raw)[0])
    if dtype in _FLOATS:
        code, digits = _FLOATS[dtype]
        return lambda raw: _shortest(raw, code, digits)
    if dtype in _PARTS:
        part, half = _PARTS[dtype]
        read = _reader(part, half)
        return lambda raw: _complex(read(raw[:half]), read(raw[half:]))
    return lambda raw: f"0x{raw.hex()}"  # an exotic one


def _spelt_reader(dtype: str, size: int) -> Callable[[bytes], str]:
    """The same for `>f4`, `<U5`, `|S3`."""
    order, kind = dtype[0], dtype[1]
    if kind == "S":
        return lambda raw: repr(raw.rstrip(b"\0"))
    if kind == "U":
        encoding = "utf-32-be" if order == ">" else "utf-32-le"
        return lambda raw: repr(
            raw.decode(encoding, errors="surrogatepass").rstrip("\0")
        )
    native = f"{_KINDS.get(kind, 'int')}{8 * size}"
    if native not in _INTEGERS | _FLOATS | _PARTS:
        return lambda raw: f"0x{raw.hex()}"
    read = _reader(native, size)
    if order != ">":
        return read
    if native in _PARTS:
        half = size // 2
        return lambda raw: read(raw[:half][::-1] + raw[half:][::-1])
    return lambda raw: read(raw[::-1])


def _shortest(
    raw: bytes,
    code: str,
    digits: int,
    pack: Callable[[str, float], bytes] | None = None,
) -> str:
    """The shortest decimal number that is this one and no other of its dtype."""
    number = struct.unpack(code, raw)[0]
    if not math.isfinite(number):
        return repr(number)
    for precision in range(1, digits + 1):
        found = float(f"{number:.{precision}g}")
        if (pack or _packed)(code, found) == raw:
            return repr(found)
    return repr(number)


def _packed(code: str, number: float) -> bytes:
    try:
        return struct.pack(code, number)
    except OverflowError:  # rounded up beyond the largest
        return b""


def _packed_bfloat16(code: str, number: float) -> bytes:
    """The nearest float32 of which only the upper half is not zero."""
    raw = _packed(code, number)
    bits = int.from_bytes(raw, "little")
    nearest = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16  # halves go to the even one
    return b"\0\0" + (nearest & 0xFFFF).to_bytes(2, "little") if raw else raw


def _complex(real: str, imaginary: str) -> str:
    sign = "" if imaginary.startswith("-") else "+"
    return f"({real}{sign}{imaginary}j)"
