"""Where callables and their defaults are written is read from source, run by no one."""

from __future__ import annotations

import collections
import dataclasses
import functools
import inspect
import sys
from typing import NamedTuple

import optax
import pytest

from fdlkit.graph.definitions import Definitions


def line_of(text: str) -> int:
    """The first line of this file that holds `text`: what is defined stands above."""
    lines = inspect.getsource(sys.modules[__name__]).splitlines()
    return next(n for n, line in enumerate(lines, 1) if text in line)


@dataclasses.dataclass
class Base:
    width: int = 1
    depth: int = 2


@dataclasses.dataclass
class Derived(Base):
    depth: int = 3


@dataclasses.dataclass(init=False)
class OwnInit(Base):
    width: int = 4

    def __init__(self, width: int = 5):  # its own constructor
        self.width = width


class Pair(NamedTuple):
    left: int = 6


class New:
    def __new__(
        cls,
        limit: int = 7,  # the limit of New
    ):
        return object.__new__(cls)


def decorate(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs)

    return inner


@decorate
@decorate
def decorated(
    rate: float = 0.5,  # the rate of decorated
):
    return rate


def make_local():
    if True:

        class Local:
            def __init__(self, size: int = 8):  # the size of Local
                self.size = size

    return Local


def keyword_only(*, scale: float = 1.0):
    return scale


doubled = lambda value=2: 2 * value  # noqa: E731 - the lambda


@pytest.mark.parametrize(
    ("called", "name", "text"),
    [
        (Base, "width", "width: int = 1"),
        (Derived, "width", "width: int = 1"),
        (Derived, "depth", "depth: int = 3"),
        (OwnInit, "width", "# its own constructor"),
        (Pair, "left", "left: int = 6"),
        (New, "limit", "# the limit of New"),
        (decorated, "rate", "# the rate of decorated"),
        (functools.partial(decorated, rate=1), "rate", "# the rate of decorated"),
        (make_local(), "size", "# the size of Local"),
        (keyword_only, "scale", "def keyword_only"),
        (doubled, "value", "# noqa: E731 - the lambda"),
    ],
)
def test_a_default_is_found_where_it_is_written(called, name, text):
    origin = Definitions().of_default(called, name)
    assert (origin.file, origin.line) == (__file__, line_of(text))


@pytest.mark.parametrize(
    ("called", "text"),
    [
        (Derived, "class Derived"),
        (Pair, "class Pair"),
        (decorated, "def decorated("),
        (make_local(), "class Local"),
        (keyword_only, "def keyword_only"),
    ],
)
def test_a_callable_is_found_where_it_is_defined(called, text):
    origin = Definitions().of_callable(called)
    assert (origin.file, origin.line) == (__file__, line_of(text))


def test_a_library_is_read_too():
    origin = Definitions().of_default(optax.adamw, "weight_decay")
    source, first = inspect.getsourcelines(inspect.unwrap(optax.adamw))
    assert origin.file == inspect.getsourcefile(inspect.unwrap(optax.adamw))
    assert "weight_decay" in source[origin.line - first]


@pytest.mark.parametrize(
    "called",
    [dict, len, collections.deque, eval("lambda a=1: a"), functools.partial(int)],
)
def test_what_has_no_source_has_no_answer(called):
    assert Definitions().of_callable(called) is None
    assert Definitions().of_default(called, "a") is None


def test_a_name_that_is_no_parameter_has_no_answer():
    assert Definitions().of_default(Base, "nothing") is None


def test_a_file_that_is_no_longer_python_has_no_answer(tmp_path, monkeypatch):
    path = tmp_path / "broken_later.py"
    path.write_text("def made(a=1):\n    return a\n")
    monkeypatch.syspath_prepend(tmp_path)
    import broken_later

    path.write_text("def made(a=1:\n")
    origin = Definitions().of_callable(broken_later.made)
    assert origin is None or origin.line == 1
    assert Definitions().of_default(broken_later.made, "a") is None
