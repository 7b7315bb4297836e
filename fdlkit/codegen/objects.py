"""Instances of classes as calls that make them: arrays, dataclasses, what pickles."""

from __future__ import annotations

import dataclasses
import inspect
import math
import sys
from typing import Any

from fdlkit.codegen.program import Imported, Text
from fdlkit.codegen.refusals import UnwritableError
from fdlkit.codegen.writes import Leaves
from fdlkit.graph import built, names, reprs


def text(value: Any, leaves: Leaves) -> Text:
    """The text of a value that is of no type with a notation of its own.

    Raises:
      UnwritableError: Nothing makes it again, or a config should have made it.
    """
    if (found := built.of_value(value)) is not None:
        what, instead = found
        raise UnwritableError(_named(what, value), f"write {instead}")
    for write in (_numpy, _jax, _spec, _dataclass, _reduced):
        written = write(value, leaves)
        if written is not None:
            return written
    raise UnwritableError(
        f"{_short(value)} (a {names.Names().symbol(type(value)).name})",
        "no expression is known that makes it again; make it in a function, and "
        "configure that: fdl.Config(make_it)",
    )


def _named(what: str, value: Any) -> str:
    return f"{what} ({names.Names().symbol(type(value)).name})"


def _short(value: Any) -> str:
    told = reprs.text(value)
    if " at 0x" in told:  # where it is in memory tells nobody anything
        return "an object"
    return told if len(told) <= 60 else f"{told[:59]}…"


def _numpy(value: Any, leaves: Leaves) -> Text | None:
    numpy: Any = sys.modules.get("numpy")
    if numpy is None:
        return None
    if type(value) is numpy.ufunc:
        is_there = getattr(numpy, value.__name__, None) is value
        return (Imported("numpy", value.__name__),) if is_there else None
    if isinstance(value, numpy.generic):
        return _scalar(value, leaves)
    if type(value) is not numpy.ndarray or value.dtype.kind not in "biufcUSVmM":
        return None
    if value.dtype.names is not None or not value.dtype.isnative:
        return None
    if value.dtype.kind == "V" and value.dtype.isbuiltin != 2:
        return None
    if value.dtype.kind in "mM":
        elements: Any = value.astype(str).tolist()
    else:
        elements = value.tolist()
    kind = _dtype_argument(value.dtype, leaves)
    return _array("numpy", elements, value, kind, leaves)


def _array(module: str, elements: Any, value: Any, kind: Text, leaves: Leaves) -> Text:
    if math.prod(value.shape) == 0 and value.ndim != 1:
        zeros = Imported(module, "zeros")
        return (zeros, "(", *leaves.live(tuple(value.shape)), ", dtype=", *kind, ")")
    if _is_lost_in_text(elements, value):
        return _from_bytes(module, value, kind, leaves)
    inside = leaves.live(elements)
    return (Imported(module, "array"), "(", *inside, ", dtype=", *kind, ")")


def _is_lost_in_text(elements: Any, value: Any) -> bool:
    """Whether numbers do not say every bit: there are many kinds of NaN."""
    import numpy

    if value.dtype.kind not in "fcV":
        return False
    with numpy.errstate(invalid="ignore"):  # a NaN may be one that signals
        is_nan = numpy.isnan(value)
    if value.dtype.kind == "c" and is_nan.any():
        return True
    again = numpy.array(elements, value.dtype)
    again[is_nan] = math.nan
    return bool(again.tobytes() != value.tobytes())


def _from_bytes(module: str, value: Any, kind: Text, leaves: Leaves) -> Text:
    """`np.array(np.frombuffer(b"…", dtype=np.float32).reshape((2, 3)))`."""
    read = (
        *(Imported("numpy", "frombuffer"), "(", *leaves.live(value.tobytes())),
        *(", dtype=", *kind, ").reshape(", *leaves.live(tuple(value.shape)), ")"),
    )
    return (Imported(module, "array"), "(", *read, ")")


def _dtype_argument(dtype: Any, leaves: Leaves) -> Text:
    """`np.float32` for a dtype of a plain scalar type, else its string."""
    found = names.find(dtype.type)
    if dtype.kind in "biufcV" and found is not None:
        return leaves.symbol(found)
    return (repr(dtype.str),)


def _scalar(value: Any, leaves: Leaves) -> Text | None:
    found = names.find(type(value))
    if found is None or value.dtype.kind not in "biufcVUS":
        return None
    if value.dtype.kind == "V" and value.dtype.isbuiltin != 2:
        return None
    plain = value.item()
    if isinstance(plain, type(value)):
        return None  # what Python has no number for, such as a long double
    if _is_lost_in_text(plain, value):
        kind = _dtype_argument(value.dtype, leaves)
        data = leaves.live(value.tobytes())
        return (Imported("numpy", "frombuffer"), "(", *data, ", dtype=", *kind, ")[0]")
    return leaves.call(leaves.symbol(found), [plain])


def _jax(value: Any, leaves: Leaves) -> Text | None:
    jax: Any = sys.modules.get("jax")
    if jax is None or not isinstance(value, jax.Array):
        return None
    if jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
        data = leaves.live(jax.random.key_data(value))
        name = str(jax.random.key_impl(value))
        wrap = Imported("jax.random", "wrap_key_data")
        return (wrap, "(", *data, f", impl={name!r})")
    import numpy

    plain = numpy.asarray(value)
    if getattr(value, "weak_type", False):
        return leaves.call((Imported("jax.numpy", "asarray"),), [plain.tolist()])
    kind = (Imported("jax.numpy", value.dtype.name),)
    return _array("jax.numpy", plain.tolist(), plain, kind, leaves)


def _spec(value: Any, leaves: Leaves) -> Text | None:
    sharding: Any = sys.modules.get("jax.sharding")
    if sharding is None or type(value) is not sharding.PartitionSpec:
        return None
    unconstrained = sharding.PartitionSpec.UNCONSTRAINED
    name = Imported("jax.sharding", "PartitionSpec")
    parts: list[Any] = [name, "("]
    for number, part in enumerate(value):
        parts += [", "] if number else []
        parts += (
            [name, ".UNCONSTRAINED"] if part is unconstrained else leaves.live(part)
        )
    for extra in ("unreduced", "reduced"):
        if getattr(value, extra, None):
            return None
    return (*parts, ")")


def _dataclass(value: Any, leaves: Leaves) -> Text | None:
    if not dataclasses.is_dataclass(value) or inspect.isclass(value):
        return None
    named = {}
    for field in dataclasses.fields(value):
        if not field.init:
            continue
        held = getattr(value, field.name)
        if field.default is not dataclasses.MISSING and (
            held is field.default or _is_plainly_equal(held, field.default)
        ):
            continue
        named[field.name] = held
    if not _is_made_by(value, named):
        return None
    return leaves.call(leaves.type_name(value), (), named)


def _is_made_by(value: Any, named: dict[str, Any]) -> bool:
    """Whether a constructor's arguments make the fields too that it does not take."""
    hidden = [field.name for field in dataclasses.fields(value) if not field.init]
    if not hidden:
        return True
    try:
        again = type(value)(**named)
        return all(
            type(getattr(again, name)) is type(getattr(value, name))
            and bool(getattr(again, name) == getattr(value, name))
            for name in hidden
        )
    except Exception:  # noqa: BLE001 - a constructor or `==` may raise anything
        return False


def _is_plainly_equal(one: Any, two: Any) -> bool:
    plain = (bool, int, float, str, bytes)
    return type(one) is type(two) and type(one) in plain and repr(one) == repr(two)


def _reduced(value: Any, leaves: Leaves) -> Text | None:
    """What unpickling would call, where that makes an equal value."""
    try:
        reduced = value.__reduce_ex__(2)
    except Exception:  # noqa: BLE001 - whatever a type raises that does not pickle
        return None
    if not isinstance(reduced, tuple) or any(part for part in reduced[2:]):
        return None
    make, args = reduced[:2]
    symbol = names.find(make)
    if symbol is None or symbol.module in ("copyreg", "_frozen_importlib"):
        return None
    try:
        again = make(*args)
        is_same = type(again) is type(value) and (
            bool(again == value) or again.__reduce_ex__(2) == reduced
        )
    except Exception:  # noqa: BLE001 - it may raise anything
        return None
    return leaves.call(leaves.symbol(symbol), args) if is_same else None
