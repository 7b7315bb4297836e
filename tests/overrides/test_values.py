"""A value is typed by the annotation of the parameter, never guessed first."""

from __future__ import annotations

import collections.abc
import enum
import math
import pathlib
import typing

import fiddle as fdl
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdlkit.overrides import values
from fdlkit.overrides.problems import BadTextError
from fdlkit.overrides.symbols import Scope


class Colour(enum.Enum):
    RED = "rouge"
    DARK_BLUE = 2


class Painter(typing.Protocol):
    def __call__(self, colour: Colour) -> None: ...


def read(text, annotation, name="", **more):
    return values.read(text, values.Wanted(annotation, Scope(), name, **more))


ACCEPTED = [
    ("256", int, 256),
    ("1_000", int, 1000),
    ("1e3", int, 1000),
    ("0x10", int, 16),
    ("-3", int, -3),
    ("007", int, 7),
    ("3e-4", float, 3e-4),
    ("1", float, 1.0),
    ("inf", float, math.inf),
    ("foo", str, "foo"),
    ("a=b", str, "a=b"),
    ("a,b", str, "a,b"),
    ("None", str, "None"),
    ("123", str, "123"),
    ("", str, ""),
    (" padded ", str, " padded "),
    ("None", int | None, None),
    ("3", int | None, 3),
    ("None", str | None, None),
    ("'None'", str | None, "None"),
    ("x", str | None, "x"),
    ("true", bool, True),
    ("No", bool, False),
    ("0", bool, False),
    ("RED", Colour, Colour.RED),
    ("rouge", Colour, Colour.RED),
    ("dark_blue", Colour, Colour.DARK_BLUE),
    ("2", Colour, Colour.DARK_BLUE),
    ("Colour.RED", Colour, Colour.RED),
    ("train", typing.Literal["train", "eval"], "train"),
    ("2", typing.Literal[1, 2], 2),
    ("[1,2]", list[int], [1, 2]),
    ("(1024, 2048)", list[int], [1024, 2048]),
    ("1024,2048", tuple[int, ...], (1024, 2048)),
    ("[1, 2.5]", tuple[int, float], (1, 2.5)),
    ("[1e3]", list[int], [1000]),
    ("{'a': 1}", dict[str, float], {"a": 1.0}),
    ("{1, 2}", set[int], {1, 2}),
    ("set()", set[int], set()),
    ("[[1], [2, 3]]", list[list[int]], [[1], [2, 3]]),
    ("['a', b]", list[str], ["a", "b"]),
    ("[None, 1]", list[int | None], [None, 1]),
    ("['rouge', DARK_BLUE]", list[Colour], [Colour.RED, Colour.DARK_BLUE]),
    ("(1, 2)", collections.abc.Sequence[int], (1, 2)),
    ("[1, 2]", collections.abc.Sequence[int], [1, 2]),
    ("3", int | float, 3),
    ("3.5", int | float, 3.5),
    ("0", bool | int | float, 0),
    ("1.0", bool | int | float, 1.0),
    ("1e3", int | float, 1000.0),
    ("false", bool | int | float, False),
    ("0", bool | float, 0.0),
    ("True", int | bool, True),
    ("3", str | int, 3),
    ("7", str | int, 7),
    ("seven", str | int, "seven"),
    ("[1, 'a']", typing.Any, [1, "a"]),
    ("plain text", typing.Any, "plain text"),
    ("None", typing.Any, None),
    ("math:cos", typing.Callable, math.cos),
    ("a/b", pathlib.Path, pathlib.Path("a/b")),
    ("1+2j", complex, 1 + 2j),
    ("5", typing.Annotated[int, "metres"], 5),
]


@pytest.mark.parametrize(
    ("text", "annotation", "value"), ACCEPTED, ids=lambda v: str(v)[:24]
)
def test_text_is_read_as_the_annotation_says(text, annotation, value):
    result = read(text, annotation)
    assert result == value
    assert type(result) is type(value)


REFUSED = [
    ("abc", int),
    ("100.5", int),
    ("inf", int),
    ("nan", int),
    ("True", int),
    ("9" * 5000, int),
    ("abc", float),
    ("maybe", bool),
    ("2", bool),
    ("green", Colour),
    ("test", typing.Literal["train", "eval"]),
    ("7", list[int]),
    ("[1, x]", list[int]),
    ("['1']", list[int]),
    ("[1]", list[str]),
    ("[1, 2, 3]", tuple[int, int]),
    ("[1, 2]", dict[str, int]),
    ("{[]: 1}", dict),
    ("{**a}", dict[str, int]),
    ("[*a]", list[int]),
    ("(" * 300 + ")" * 300, list[int]),
    ("[1, 2", list[int]),
    ("abc", int | float | None),
    ("3", Painter),
    ("__import__('os')", list[int]),
]


@pytest.mark.parametrize(("text", "annotation"), REFUSED, ids=lambda v: str(v)[:24])
def test_text_that_does_not_fit_is_refused(text, annotation):
    with pytest.raises(BadTextError):
        read(text, annotation)


def test_the_caret_marks_the_wrong_element():
    with pytest.raises(BadTextError) as refused:
        read("[1, [2, ü, x]]", list[int | list[int]])
    start, end = refused.value.span
    assert "[1, [2, ü, x]]"[start:end] == "ü"
    with pytest.raises(BadTextError) as refused:
        read("['ü', 1]", list[str])
    start, end = refused.value.span
    assert "['ü', 1]"[start:end] == "1"


def test_nan_is_a_float():
    assert math.isnan(read("nan", float))


@pytest.mark.parametrize("text", ["bfloat16", "jnp.bfloat16"])
@pytest.mark.parametrize("annotation", [np.dtype, typing.Any, np.dtype | None])
def test_a_dtype_is_what_a_config_author_writes(text, annotation):
    assert read(text, annotation, "param_dtype") is jnp.bfloat16


def test_a_wrong_dtype_is_told_the_right_one():
    with pytest.raises(BadTextError) as refused:
        read("bfloat61", typing.Any, "dtype")
    assert refused.value.hint == "did you mean 'bfloat16'?"


def test_a_name_makes_a_config_where_an_object_is_wanted():
    node = read("fractions:Fraction(numerator=1)", pathlib.PosixPath)
    assert isinstance(node, fdl.Config)
    assert node.numerator == 1


def test_an_unknown_argument_of_a_new_node_is_marked():
    text = "fractions:Fraction(numerater=1)"
    with pytest.raises(BadTextError) as refused:
        read(text, pathlib.PosixPath)
    start, end = refused.value.span
    assert text[start:end] == "numerater"
    assert refused.value.hint == "did you mean 'numerator'?"


@given(st.integers())
def test_every_int_is_read_back(number):
    assert read(str(number), int) == number


@given(st.floats(allow_nan=False))
def test_every_float_is_read_back(number):
    assert read(repr(number), float) == number


@given(st.text())
def test_a_string_is_taken_verbatim(text):
    assert read(text, str) == text


LITERALS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda below: st.lists(below) | st.dictionaries(st.text(), below),
    max_leaves=10,
)


@given(LITERALS)
def test_where_nothing_is_said_a_literal_is_read_back(value):
    assert read(repr(value), typing.Any) == value


@given(st.lists(st.integers(-(2**53), 2**53) | st.none()))
def test_elements_are_typed_one_by_one(numbers):
    assert read(repr(numbers), list[int | None]) == numbers
    assert read(repr(numbers), list[float | None]) == numbers


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e23", 10**23),
        ("9007199254740993.0", 9007199254740993),
        ("-1.5e1", -15),
        ("1e400", 10**400),
    ],
)
def test_an_int_is_exact_however_large_it_is(text, value):
    assert read(text, int) == value


@pytest.mark.parametrize("text", ["1e4000", "1e999999999", "-1e4001"])
def test_an_int_of_too_many_digits_is_refused_before_it_is_made(text):
    with pytest.raises(BadTextError, match="at most 4000 digits"):
        read(text, int)


@pytest.mark.parametrize(
    ("text", "annotation", "what", "marked"),
    [
        ("{'a':1,'b':2,'a':3}", dict[str, int], "the key 'a' stands there twice", 13),
        ("{1:1, 1.0:2}", dict[float, int], "the key 1.0 stands there twice", 6),
        ("Mlp(width=1,width=2)", object, "Mlp is given width twice", 12),
    ],
)
def test_what_is_given_twice_is_refused(text, annotation, what, marked, shop):
    wanted = values.Wanted(annotation, Scope((shop,)))
    with pytest.raises(BadTextError) as caught:
        values.read(text, wanted)
    assert (caught.value.what, caught.value.span[0]) == (what, marked)
