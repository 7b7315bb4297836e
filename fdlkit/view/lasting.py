"""Leaves in words that are the same in every process: no addresses, no hash order."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import re
import sys
from typing import Any

from fdlkit.graph import leaf_texts, names, ranks, reprs
from fdlkit.graph.model import Array, DType, Leaf, Made, Member, Opaque, Symbol

_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]+")

# What a built object holds is written out this deep; below that, by its type.
_MAX_LEVELS = 20

# An array of more elements is told by its bytes' digest.
_MAX_ELEMENTS = 64


def leaf(value: Leaf) -> str:
    """A leaf on one line, whole: functions and classes by their public names.

    An int of more digits than Python writes out is told by their number and a digest,
    a large array by its shape and a digest.
    """
    return _held(value.value)


def _held(held: Any, levels: int = 0) -> str:
    if isinstance(held, Symbol):
        return held.name.removeprefix("builtins.")
    if isinstance(held, Member):
        return f"{held.enum.name}.{held.name}"
    if isinstance(held, DType):
        return f"dtype({held.name})"
    if isinstance(held, Made | Array):
        return leaf_texts.text(held, full=True)
    if isinstance(held, Opaque):
        return _opaque(held.live, held.text, levels)
    try:
        return repr(held)
    except ValueError:  # Python writes out no int of many thousand digits
        return f"{reprs.plain(held)}, sha256 {_digest(hex(held).encode())}"


def _opaque(live: Any, text: str, levels: int) -> str:
    """A built object, an array, or a function that no import leads to."""
    qualname = getattr(live, "__qualname__", None)
    if isinstance(qualname, str):
        return f"{getattr(live, '__module__', None) or ''}.{qualname}".lstrip(".")
    if hasattr(live, "dtype") and hasattr(live, "tobytes") and hasattr(live, "tolist"):
        return _array(live)
    if _is_partition_spec(live):  # whose own text is not the same in every JAX
        return f"PartitionSpec({', '.join(_part(axes, levels + 1) for axes in live)})"
    if type(live) is functools.partial and levels < _MAX_LEVELS:
        bound = [_part(value, levels + 1) for value in (live.func, *live.args)]
        for key, value in sorted(live.keywords.items()):
            bound.append(f"{key}={_part(value, levels + 1)}")
        return f"functools.partial({', '.join(bound)})"
    is_record = dataclasses.is_dataclass(live) and not isinstance(live, type)
    if is_record and levels < _MAX_LEVELS and reprs.is_short(live):
        fields = (f for f in dataclasses.fields(live) if f.repr)
        parts = (
            f"{field.name}={_part(getattr(live, field.name, None), levels + 1)}"
            for field in fields
        )
        return f"{type(live).__qualname__}({', '.join(parts)})"
    return _ADDRESS.sub("", text).replace(" >", ">")


def _part(value: Any, levels: int) -> str:
    """A field of a built object."""
    if levels >= _MAX_LEVELS:
        return f"{type(value).__qualname__}(...)"
    if type(value) in (list, tuple):
        inside = ", ".join(_part(element, levels + 1) for element in value)
        if type(value) is list:
            return f"[{inside}]"
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if type(value) in (set, frozenset):
        form = names.Names().leaf
        ordered = sorted(value, key=lambda element: ranks.rank(element, form))
        inside = ", ".join(_part(element, levels + 1) for element in ordered)
        return f"{type(value).__name__}([{inside}])"
    if type(value) is dict:
        inside = ", ".join(
            f"{_part(key, levels + 1)}: {_part(held, levels + 1)}"
            for key, held in value.items()
        )
        return f"{{{inside}}}"
    return _held(names.Names().leaf(value), levels)


def _is_partition_spec(live: Any) -> bool:
    sharding = sys.modules.get("jax.sharding")  # loaded, if there is one of it
    return sharding is not None and isinstance(live, sharding.PartitionSpec)


def _array(live: Any) -> str:
    """`float32[2] [1.0, 2.0]`; `float32[4096] sha256 a3f2…`."""
    dims = ", ".join(map(str, live.shape))
    if live.size <= _MAX_ELEMENTS:
        return f"{live.dtype}[{dims}] {live.tolist()}"
    return f"{live.dtype}[{dims}] sha256 {_digest(live.tobytes())}"


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
