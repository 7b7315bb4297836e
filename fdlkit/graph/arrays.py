"""Small arrays and dtypes to the bit, in a form that needs no NumPy to be read."""

from __future__ import annotations

import importlib
import math
import re
import sys
from typing import Any, Literal

from fdlkit import suggest
from fdlkit.graph.model import Array

# The mean and deviation of each channel, the boundaries of a schedule, the weights of
# some dozen classes are settings, which a person reads and compares; 64 numbers are
# what still fits on a few lines. What is larger was computed or loaded, by something
# that a config can name.
MAX_ELEMENTS = 64

# Of these elements, the most bytes: an element may be a text of any length.
MAX_BYTES = 4096

# Dtypes by their own name, with the bytes of an element.
ITEM_BYTES = {
    "bool": 1,
    **{f"{sign}int{bits}": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float16": 2,
    "float32": 4,
    "float64": 8,
    "complex64": 8,
    "complex128": 16,
}

# Those of `ml_dtypes`, which NumPy knows by name only when that has been imported.
ML_ITEM_BYTES = {
    "bfloat16": 2,
    **dict.fromkeys(("int2", "int4", "uint2", "uint4"), 1),
    **dict.fromkeys(
        (
            *("float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"),
            *("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn"),
            *("float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
        ),
        1,
    ),
}

# Any other is spelt as NumPy does: byte order, kind, size, and a unit of time.
_SPELT = re.compile(r"[<>|]([biufcUSMm])(\d{1,6})(\[\d{0,6}[a-zA-Z]{1,2}\])?")

# What a Python number becomes in JAX, weakly typed.
_WEAK = ("int32", "int64", "float32", "float64", "complex64", "complex128")


class ArrayError(ValueError):
    """There is no such array or dtype, or not in this process."""


def take(value: Any) -> Array | None:
    """The form of a small array or a NumPy scalar; None for anything else."""
    kind = _kind(value)
    if kind is None:
        return None
    numpy = sys.modules["numpy"]
    try:
        weak = bool(getattr(value, "weak_type", False))
        if not isinstance(value.dtype, numpy.dtype) or value.size > MAX_ELEMENTS:
            return None
        plain = numpy.asarray(value)
    except Exception:  # noqa: BLE001 - a deleted, abstract or remote array has no elements
        return None
    dtype = dtype_name(plain.dtype)
    if dtype is None or plain.nbytes > MAX_BYTES:
        return None
    if weak and (plain.shape or dtype not in _WEAK):
        return None  # nothing makes such an array directly
    if sys.byteorder == "big" and dtype in ITEM_BYTES | ML_ITEM_BYTES:
        plain = plain.byteswap()
    return Array(kind, dtype, plain.shape, plain.tobytes(), weak, live=value)


def make(array: Array) -> Any:
    """The array that has this form, a new one.

    Raises:
      ArrayError: It cannot be in this process: 64 bits in JAX, where they are off.
    """
    import numpy

    dtype = numpy_dtype(array.dtype)
    data = bytearray(array.data)  # of its own, so that the array may be written to
    plain = numpy.ndarray(array.shape, dtype, data)
    if sys.byteorder == "big" and array.dtype in ITEM_BYTES | ML_ITEM_BYTES:
        plain = plain.byteswap()
    if array.kind == "scalar":
        return plain[()]
    if array.kind == "numpy":
        return plain
    jnp = importlib.import_module("jax.numpy")
    made = jnp.asarray(plain.item() if array.weak else plain)
    if made.dtype != dtype:
        raise ArrayError(
            f"a JAX array of {array.dtype} becomes {made.dtype} here; "
            "jax_enable_x64 is off"
        )
    return made


def item_bytes(dtype: str) -> int | None:
    """The bytes of an element; None if there is no such dtype."""
    known = ITEM_BYTES.get(dtype) or ML_ITEM_BYTES.get(dtype)
    if known is not None:
        return known
    match = _SPELT.fullmatch(dtype)
    if match is None:
        return None
    return int(match[2]) * (4 if match[1] == "U" else 1)


def fits(array: Array) -> bool:
    """Whether there are as many bytes as the shape and dtype say, and not too many."""
    size = item_bytes(array.dtype)
    count = math.prod(array.shape)
    if size is None or count > MAX_ELEMENTS or len(array.data) > MAX_BYTES:
        return False
    # Beside an axis of 0 the others may say anything, but NumPy counts them.
    if math.prod(axis for axis in array.shape if axis) * max(size, 1) > sys.maxsize:
        return False
    return len(array.data) == count * size


def dtype_name(dtype: Any) -> str | None:
    """What `numpy_dtype` makes this dtype of; None if it has no lasting name."""
    if dtype.names is not None or dtype.subdtype is not None or dtype.hasobject:
        return None
    if dtype.isnative and dtype.name in ITEM_BYTES | ML_ITEM_BYTES:
        return str(dtype.name)
    return dtype.str if _SPELT.fullmatch(dtype.str) else None


def numpy_dtype(name: str) -> Any:
    """The NumPy dtype of a name.

    Raises:
      ArrayError: There is none.
    """
    import numpy

    if name in ML_ITEM_BYTES:
        ml_dtypes = importlib.import_module("ml_dtypes")
        scalar = getattr(ml_dtypes, name, None)
        if scalar is None:
            raise ArrayError(f"this ml_dtypes has no '{name}'")
        return numpy.dtype(scalar)
    if name not in ITEM_BYTES and _SPELT.fullmatch(name) is None:
        hint = suggest.hint(name, sorted(ITEM_BYTES | ML_ITEM_BYTES))
        raise ArrayError(f"no dtype '{name}'" + (f", {hint}" if hint else ""))
    try:
        return numpy.dtype(name)
    except (TypeError, ValueError):  # `<f3`
        raise ArrayError(f"no dtype '{name}'") from None


def _kind(value: Any) -> Literal["numpy", "scalar", "jax"] | None:
    """What kind of array it is, by the libraries that are loaded."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    if type(value) is getattr(numpy, "ndarray", None):
        return "numpy"
    scalar = getattr(numpy, "generic", None)
    if scalar is not None and issubclass(type(value), scalar):
        return "scalar"
    jax_array = getattr(sys.modules.get("jax"), "Array", None)
    if jax_array is not None and isinstance(value, jax_array):
        return "jax"
    return None
