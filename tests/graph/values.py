"""Random values that are no more than what they were made of, and small arrays."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import pathlib
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import optax
from hypothesis import strategies as st
from jax.sharding import PartitionSpec as P


@dataclasses.dataclass(frozen=True)
class Axes:
    """A frozen value."""

    data: int = -1
    names: tuple[Any, ...] = ()
    more: Any = None


@dataclasses.dataclass
class Settings:
    """A value that can be changed, with a field that its constructor does not take."""

    rate: Any = 0.5
    table: dict[Any, Any] = dataclasses.field(default_factory=dict)
    count: int = dataclasses.field(default=3, init=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    """A value without a `__dict__`."""

    x: Any = 0


class Point(NamedTuple):
    x: Any
    y: Any = 0


class Sides(enum.Flag, boundary=enum.KEEP):
    LEFT = 1
    RIGHT = 2
    BOTH = 3
    TOP = 4


class Modes(enum.IntFlag):
    READ = 1
    WRITE = 2


def gather(*given: Any, **named: Any) -> Any:
    """Takes anything."""
    return given, named


_SMALL = st.integers(-99, 99)

FUNCTIONS = st.sampled_from(
    [jnp.tanh, jax.nn.relu, nn.gelu, optax.adam, jnp.float32, len, Axes]
)

_SCALARS = st.one_of(
    st.none(), st.booleans(), _SMALL, st.floats(), st.text(max_size=3), FUNCTIONS
)


def _array(dtype: Any, data: bytes, shape: str) -> np.ndarray[Any, Any]:
    size = np.dtype(dtype).itemsize
    flat = np.frombuffer(data[: len(data) // size * size], dtype).copy()
    if shape == "scalar" and len(flat):
        return flat[0].reshape(())
    return flat[:, None] if shape == "column" else flat


DTYPES = st.sampled_from(
    ["float32", "float16", "int8", "uint64", "complex64", ">i4", ml_dtypes.bfloat16]
)

ARRAYS = st.builds(
    _array,
    DTYPES,
    st.binary(max_size=48),
    st.sampled_from(["flat", "column", "scalar"]),
)

# Made once: each new shape or dtype is compiled anew.
JAX_ARRAYS = st.sampled_from(
    [
        jnp.array(3.0), jnp.array(2), jnp.arange(3), jnp.ones((2, 1), jnp.bfloat16),
        jnp.array([True, False]), jnp.zeros((0, 2)), jnp.array([jnp.nan, -0.0]),
    ]
)  # fmt: skip

_ZONES = st.none() | st.builds(
    lambda minutes: datetime.timezone(datetime.timedelta(minutes=minutes)),
    st.integers(-60, 60),
)

# What can be an element of a set or a key of a dict.
HASHABLE = st.one_of(
    st.builds(pathlib.Path, st.sampled_from(["a", "runs/b", "/x", "."])),
    st.builds(pathlib.PureWindowsPath, st.sampled_from(["a", "c:/x"])),
    st.builds(range, _SMALL, _SMALL, st.sampled_from([1, 2, -3])),
    st.decimals(allow_nan=False),
    st.fractions(-(10**9), 10**9, max_denominator=10**6),
    st.timedeltas(),
    st.dates(),
    st.times(timezones=_ZONES),
    st.datetimes(timezones=_ZONES),
    st.builds(Sides, st.integers(0, 31)),
    st.builds(Modes, st.integers(0, 7)),
    st.builds(Axes, _SMALL, st.tuples(_SMALL, st.text(max_size=2))),
    st.sampled_from([..., P("data", None, ("a", "b")), P(), P(P.UNCONSTRAINED)]),
    st.sampled_from([np.dtype("float32"), np.dtype(">f4"), jnp.dtype("bfloat16")]),
    st.sampled_from([np.float32(0.1), np.int8(3), ml_dtypes.bfloat16(1.5)]),
)

_PARTS = st.recursive(
    st.one_of(_SCALARS, HASHABLE),
    lambda parts: st.one_of(
        st.lists(parts, max_size=2),
        st.tuples(parts),
        st.dictionaries(st.text(max_size=2), parts, max_size=2),
        st.frozensets(HASHABLE, max_size=2),
        st.builds(Point, parts, parts),
        st.builds(Slotted, parts),
    ),
    max_leaves=3,
)


def _settings(rate: Any, table: dict[Any, Any], count: int) -> Settings:
    made = Settings(rate, table)
    made.count = count
    return made


def _partial(function: Any, x: Any, y: Any) -> functools.partial[Any]:
    return functools.partial(function, x, k=y, l=0)


VALUES = st.one_of(
    HASHABLE,
    st.builds(slice, _SCALARS, _SMALL, st.none()),
    st.complex_numbers(),
    st.sampled_from([decimal.Decimal("NaN"), fractions.Fraction(1, 3)]),
    st.builds(Axes, _SMALL, st.tuples(_PARTS), _PARTS),
    st.builds(_settings, _PARTS, st.dictionaries(HASHABLE, _PARTS, max_size=2), _SMALL),
    st.builds(Slotted, _PARTS),
    st.builds(_partial, st.sampled_from([gather, dict]), _PARTS, _PARTS),
    st.frozensets(HASHABLE, max_size=3),
    st.sets(HASHABLE, max_size=3),
    ARRAYS,
    JAX_ARRAYS,
)
