"""Values against annotations: what is wrong is told, and nothing else is."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import pathlib
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

import fiddle as fdl
import hypothesis
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from hypothesis import strategies as st
from jax.typing import DTypeLike
from jaxtyping import Array, Float

import fdlkit
from fdlkit.check.config import fitting
from fdlkit.graph.snapshot import snapshot
from fdlkit.nn.norm import RmsNorm


class Color(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Base:
    x: int = 0


@dataclasses.dataclass
class Derived(Base):
    y: int = 0


class Runs(Protocol):
    def run(self) -> int: ...


@dataclasses.dataclass
class Other:
    z: int = 0


class Point(typing.NamedTuple):
    x: int
    y: int


def make_base() -> Base:
    return Base()


def make_something():
    return object()


def make_derived() -> Derived:
    return Derived()


def misfit(value: Any, annotation: Any, name: str = "value") -> fitting.Misfit | None:
    """Of a value in a list, as a config holds it."""
    graph = snapshot([value])
    held = graph.nodes[graph.root.node].arguments[0].value
    return fitting.misfit(graph, held, annotation, name=name)


FITS = [
    *((3, int), (True, int), (np.int32(3), int), (3, float), (3.5, float)),
    *((np.float32(3), float), (3, complex), (True, bool), ("a", str), (b"a", bytes)),
    *((3, Any), (None, None), (None, int | None), (3, int | None), (3, "Forward")),
    *((3, int | None), ("a", Literal["a", "b"]), (2, Literal[1, 2])),
    *(([1, 2], list[int]), ((1, 2), list[int]), ([1, 2], Sequence[int])),
    *(((1, 2), tuple[int, int]), ((1, 2, 3), tuple[int, ...]), ([1, 2], tuple)),
    *(({"a": 1}, dict[str, int]), ({"a": 1}, Mapping[str, int]), ({1}, set[int])),
    *(([], list[int]), ({}, Mapping[str, int]), (Point(1, 2), Point)),
    *((np.ones(3), Sequence[float]), (np.ones(3), np.ndarray), (3.0, jax.Array)),
    *((range(3), Sequence[int]), (Color.RED, Color), ("a/b", pathlib.Path)),
    *((pathlib.Path("a"), pathlib.Path), (pathlib.Path("a"), str)),
    *(
        (fdl.Config(Base), Base),
        (fdl.Config(Derived), Base),
        (fdl.Config(Base), Derived),
    ),
    *((fdl.Config(make_base), Base), (fdl.Config(make_something), Base)),
    *(
        (fdl.Config(make_derived), Base),
        (fdl.Config(Base), Runs),
        (fdl.Config(Base), Any),
    ),
    *((fdl.Config(optax.adam), optax.GradientTransformation),),
    *((fdl.Config(optax.chain), optax.GradientTransformationExtraArgs),),
    *((fdl.Config(optax.constant_schedule), optax.ScalarOrSchedule),),
    *((3e-4, optax.ScalarOrSchedule), (fdl.Partial(Base), Callable[..., Base])),
    *((fdl.Partial(Base), functools.partial), (len, Callable), (Base, type[Base])),
    *((Base, Callable[..., Base]), (fdl.Config(Base), Callable), (RmsNorm, Callable)),
    *((jnp.bfloat16, DTypeLike), ("bfloat16", DTypeLike), ("float8_e4m3fn", DTypeLike)),
    *(("int4", np.dtype), (np.float32, np.dtype), (None, DTypeLike)),
    *((np.ones((2, 3)), Float[Array, "a b"]), (3, Float[Array, ""])),
    *((collections.OrderedDict(a=1), dict[str, int]), ([1, "a"], list[int | str])),
    *(([[1, 2], [3]], list[list[int]]), (fdl.Config(Base), int | Base)),
    *((lambda x: x, Callable), (object(), Base), ({"a": fdl.Config(Base)}, dict)),
]


@pytest.mark.parametrize(("value", "annotation"), FITS, ids=repr)
def test_what_fits_is_no_finding(value, annotation):
    assert misfit(value, annotation) is None


SURE = [
    *(("3", int), ("x", float), ("yes", bool), ("x", int | None), (b"x", int)),
    *(([1], int), ({"a": 1}, float), ("c", Literal["a", "b"]), (3, Literal["a"])),
    *(("red", Color), (3, list[int]), (3, dict[str, int]), ([1], dict[str, int])),
    *(([1, "2"], list[int]), ({"a": "x"}, dict[str, int]), ({"a": 1}, list[int])),
    *(("bfloat61", DTypeLike), ("x", int | float), ([["x"]], list[list[int]])),
]
UNSURE = [
    *((2.5, int), (1e3, int), (None, int), (None, list[int]), (3, str), (None, str)),
    *(("abc", Sequence[str]), ((1, 2, 3), tuple[int, int]), (3, Callable)),
    *((None, Callable), ("gelu", Callable), (fdl.Config(Other), Base), (3, Base)),
    *((fdl.Config(make_base), Point), (fdl.Partial(Base), Base), (Base, Base)),
    *((Derived, Base), (fdl.Config(Base), int), ([1], Base), ({1}, list[int])),
]


@pytest.mark.parametrize(("value", "annotation"), SURE, ids=repr)
def test_what_cannot_be_right_is_sure(value, annotation):
    found = misfit(value, annotation)
    assert found is not None
    assert found.is_sure


@pytest.mark.parametrize(("value", "annotation"), UNSURE, ids=repr)
def test_what_may_work_is_not(value, annotation):
    found = misfit(value, annotation)
    assert found is not None
    assert not found.is_sure


@pytest.mark.parametrize(
    ("value", "annotation", "nearest", "meant"),
    [
        ("12", int, ("12",), ""),
        (1e3, int, ("1000",), ""),
        (2.5, int, (), ""),
        ("pda", Literal["drop", "pad"], ("'pad'", "'drop'"), "did you mean 'pad'?"),
        ("RDE", Color, ("Color.RED",), "did you mean 'RED'?"),
        ("abc", Sequence[str], ("['abc']",), ""),
        (Base, Base, ("fdl.Config(Base)",), ""),
    ],
)
def test_what_would_be_right_is_named(value, annotation, nearest, meant):
    found = misfit(value, annotation)
    assert found is not None
    assert (found.nearest, found.meant) == (nearest, meant)


class Hostile(type):
    """A class that cannot be asked anything."""

    def __instancecheck__(cls, instance):
        raise RuntimeError

    def __subclasscheck__(cls, other):
        raise RuntimeError


class Strange(metaclass=Hostile):
    def __eq__(self, other):
        raise RuntimeError

    __hash__ = None


ANNOTATIONS = st.sampled_from(
    [
        *(int, float, complex, bool, str, bytes, None, Any, object, type, Color, Base),
        *(Strange, Runs, Point, "unknown", typing.TypeVar("T"), Callable, DTypeLike),
        *(list, list[int], tuple[()], tuple[int, ...], dict[str, Any], set[str]),
        *(
            Literal["a", 1, None],
            int | str,
            typing.Annotated[int, "x"],
            Float[Array, "a"],
        ),
        *(typing.Final[int], collections.deque[int], np.dtype, jax.Array, 3, ...),
        *(
            typing.NewType("Id", int),
            Mapping[str, list[int]],
            typing.Self,
            Strange | int,
        ),
    ]
)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.complex_numbers(),
    st.text(),
    st.binary(),
    st.sampled_from(
        [Color.RED, Base, len, Strange(), np.float32(1), np.ones(2), jnp.int32, ...]
    ),
    st.builds(lambda: fdl.Config(Base)),
    st.builds(lambda: fdl.Partial(Derived)),
    st.builds(lambda: fdlkit.ref("x")),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.text(max_size=3), inner, max_size=3),
    ),
    max_leaves=6,
)


@hypothesis.given(
    value=VALUES, annotation=ANNOTATIONS, name=st.sampled_from(["x", "dtype"])
)
@hypothesis.settings(max_examples=300)
def test_no_value_and_no_annotation_is_too_strange(value, annotation, name):
    misfit(value, annotation, name)
