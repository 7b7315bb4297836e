"""What others' code raises and shows is told in a few lines, whatever it is."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import fiddle as fdl
import pytest

from fdlkit.errors import is_interrupt
from fdlkit.graph import messages, reprs
from fdlkit.graph.build import BuildError, build


class UnreadableError(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


class Rude(BaseException):
    """No `Exception`."""


class Leaving:
    def __repr__(self) -> str:
        raise SystemExit(0)


@dataclasses.dataclass
class Raises:
    what: Any

    def __post_init__(self) -> None:
        raise self.what


def noted(notes):
    error = ValueError("x")
    error.__notes__ = notes
    return error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (UnreadableError(), ["UnreadableError (its text cannot be read: SystemExit)"]),
        (SystemExit(), ["SystemExit (without a text)"]),
        (noted(["why", 3, "how"]), ["ValueError: x", "why", "how"]),
        (noted(5), ["ValueError: x"]),
        (ValueError("a\n\n\nb"), ["ValueError: a", "b"]),
        (
            ExceptionGroup("both", [ValueError("a"), TypeError()]),
            [
                "ExceptionGroup: both (2 sub-exceptions)",
                "  ValueError: a",
                "  TypeError (without a text)",
            ],
        ),
    ],
)
def test_an_exception_is_told(error, said):
    assert messages.lines(error) == said


def test_whose_code_raised_it_stands_before_and_the_rest_below():
    said = messages.raised("lm.py:base", ValueError("a\nb"))
    assert said == ["lm.py:base raised ValueError: a", "  b"]
    assert len(messages.raised("lm.py:base", ValueError("x\n" * 900))) == 6


@pytest.mark.parametrize(
    "error",
    [Rude("no"), GeneratorExit(), asyncio.CancelledError(), SystemExit(0)],
    ids=lambda error: type(error).__name__,
)
def test_a_constructor_that_raises_no_exception_is_told_like_any_other(error):
    with pytest.raises(BuildError) as caught:
        build(fdl.Config(dict, a=[fdl.Config(Raises, error)]))
    assert caught.value.lines[0].startswith("cannot build a[0] ")
    assert caught.value.__cause__ is error


@pytest.mark.parametrize(
    ("error", "is_one"),
    [
        (KeyboardInterrupt(), True),
        (BaseExceptionGroup("", [ValueError(), KeyboardInterrupt()]), True),
        (BaseExceptionGroup("", [SystemExit()]), False),
        (SystemExit(), False),
    ],
)
def test_only_ctrl_c_passes_through_a_build_also_in_a_group(error, is_one):
    assert is_interrupt(error) == is_one
    with pytest.raises(type(error) if is_one else BuildError):
        build(fdl.Config(Raises, error))


def test_a_repr_that_leaves_the_program_does_not():
    assert reprs.text(Leaving()) == "<Leaving>"
    assert messages.short_repr(Leaving()) == "<Leaving>"
