"""Whatever a constructor raises, three levels down, is told in a dozen plain lines."""

from __future__ import annotations

import asyncio
import concurrent.futures
import dataclasses
import enum
import functools
import importlib
import json
import re
from typing import Any

import fiddle as fdl
import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
import pytest

import fdlkit
from fdlkit.errors import UserError
from fdlkit.graph.build import BuildError
from fdlkit.graph.origins import written_by

HERE = r"\S*test_build_errors\.py:\d+"


@dataclasses.dataclass
class Outer:
    middle: Any
    width: int = 8


@dataclasses.dataclass
class Middle:
    items: list[Any]


class QuotaError(Exception):
    """An error with a text of several lines, as libraries write them."""

    def __init__(self, needed: int):
        super().__init__(f"quota exceeded\n\n  needed: {needed}\n  granted: 0\n")


class SilentError(Exception):
    pass


class MuteError(Exception):
    def __str__(self):
        raise RuntimeError("no text today")


class Odd(enum.Enum):
    ONE = 1

    def __repr__(self):
        raise RuntimeError("cannot show myself")


def value_error(width: int):
    raise ValueError(f"width={width} is odd")


def key_error(table: dict):
    return table["colour"]


def quota(needed: int):
    raise QuotaError(needed)


def silent(width: int):
    raise SilentError


def mute(width: int):
    raise MuteError


def several(count: int):
    errors = [ValueError(f"shard {n} is lost") for n in range(count)]
    raise ExceptionGroup("loading failed", errors)


def undecodable(raw: bytes):
    return raw.decode("utf-8")


def endless(depth: int):
    return endless(depth + 1)


def asserting(rank: int):
    assert rank < 4, f"rank {rank} is too high"


def exhausted(items: list):
    return next(iter(items))


def leaving(code: int):
    raise SystemExit(f"cannot go on without code {code}")


@dataclasses.dataclass
class Checked:
    rate: float

    def __post_init__(self):
        if not 0 <= self.rate <= 1:
            raise ValueError(f"rate {self.rate} is no share")


class Single:
    def __new__(cls, limit: int):
        raise PermissionError(13, "Permission denied", f"slot-{limit}")


def calls_back(make: Any, count: int):
    return [make() for _ in range(count)]


def two_sides(left, right):
    return left, right


@functools.wraps(two_sides)
def forwarding(*args, **kwargs):
    return two_sides(*args, *kwargs.values(), "surplus")


def long_winded(length: int):
    raise RuntimeError("very " * (length // 5))


def colourful(level: int):
    raise ValueError(f"\x1b]0;owned\x07\x1b[31mlevel {level}\x1b[0m\u202etxet\r\x00")


def greedy(odd: Odd, numbers: list, text: str):
    raise MemoryError(f"{len(numbers)} numbers")


def nested(width: int):
    return fdlkit.build(fdl.Config(Checked, rate=width))


def nested_elsewhere(rate: float):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(fdlkit.build, fdl.Config(Checked, rate=rate)).result()


class Narrow(nn.Module):
    width: int

    def setup(self):
        self.inner = nn.Dense(self.width, dtype=jnp.float32)
        if self.width % 2:
            raise ValueError(f"setup: width {self.width} is odd")

    def __call__(self, x):
        return self.inner(x)


def initialised(width: int):
    return Narrow(width).init(jax.random.key(0), jnp.ones((1, 2)))


class Renamed(nn.Module):
    features: int

    def __post_init__(self):
        self.features = self.features // 0
        super().__post_init__()


def annotated(path: str):
    error = FileNotFoundError(f"no shard at {path}")
    error.add_note("the bucket was listed an hour ago")
    raise error


def chained(port: int):
    try:
        json.loads("{")
    except ValueError as error:
        raise ConnectionError(f"port {port} speaks no JSON") from error


def absent(module: str):
    return importlib.import_module(module)


def cancelled(seconds: float):
    async def wait():
        await asyncio.wait_for(asyncio.sleep(5), seconds)

    asyncio.run(wait())


# What is called, its arguments, and what of the error must be read.
FAILURES = [
    (value_error, {"width": 7}, "ValueError: width=7 is odd"),
    (key_error, {"table": {"size": 1}}, "KeyError: 'colour'"),
    (quota, {"needed": 3}, "QuotaError: quota exceeded\n    needed: 3\n    granted: 0"),
    (silent, {"width": 1}, "SilentError (without a text)"),
    (mute, {"width": 1}, "MuteError (its text cannot be read: RuntimeError)"),
    (
        several,
        {"count": 2},
        "ExceptionGroup: loading failed (2 sub-exceptions)\n"
        "    ValueError: shard 0 is lost\n    ValueError: shard 1 is lost",
    ),
    (several, {"count": 9}, "  ValueError: shard 3 is lost\n    and 5 more"),
    (undecodable, {"raw": b"\xff"}, "UnicodeDecodeError: 'utf-8' codec can't decode"),
    (endless, {"depth": 0}, "RecursionError: maximum recursion depth exceeded"),
    (asserting, {"rank": 5}, "AssertionError: rank 5 is too high"),
    (exhausted, {"items": []}, "StopIteration (without a text)"),
    (leaving, {"code": 9}, "SystemExit: cannot go on without code 9"),
    (Checked, {"rate": 1.5}, "ValueError: rate 1.5 is no share"),
    (Single, {"limit": 2}, "PermissionError: [Errno 13] Permission denied: 'slot-2'"),
    (
        calls_back,
        {"make": fdl.Partial(Checked), "count": 1},
        "TypeError: Checked.__init__() missing 1 required positional argument: 'rate'",
    ),
    (
        forwarding,
        {"left": 1, "right": 2},
        "TypeError: two_sides() takes 2 positional arguments but 3 were given",
    ),
    (long_winded, {"length": 10_000}, "RuntimeError: very very very"),
    (
        colourful,
        {"level": 3},
        r"ValueError: \x1b]0;owned\x07\x1b[31mlevel 3\x1b[0m\u202etxet",
    ),
    (
        greedy,
        {"odd": Odd.ONE, "numbers": list(range(100_000)), "text": "ab\x1b" * 9_999},
        "MemoryError: 100000 numbers",
    ),
    (nested, {"width": 3}, "ValueError: It is forbidden to call `fdl.build` inside"),
    (
        nested_elsewhere,
        {"rate": 2.5},
        f"cannot build <root> ({__name__}.Checked)\n    ValueError: rate 2.5 is no",
    ),
    (initialised, {"width": 3}, "ValueError: setup: width 3 is odd"),
    (Renamed, {"features": 3}, "ZeroDivisionError: "),
    (
        optax.cosine_decay_schedule,
        {"init_value": 0.1, "decay_steps": -5},
        "ValueError: The cosine_decay_schedule requires positive decay_steps",
    ),
    (
        annotated,
        {"path": "a/b"},
        "FileNotFoundError: no shard at a/b\n  the bucket was listed an hour ago",
    ),
    (chained, {"port": 80}, "ConnectionError: port 80 speaks no JSON"),
    (absent, {"module": "no_such_zz"}, "ModuleNotFoundError: No module named 'no_such"),
    (cancelled, {"seconds": 0.0}, "TimeoutError (without a text)"),
]


def failure(called: Any, arguments: dict[str, Any]) -> BuildError:
    """What building a config says that calls `called` three levels down."""
    inner = fdl.Config(called, **arguments)
    config = fdl.Config(Outer, middle=fdl.Config(Middle, items=[inner]))
    with pytest.raises(BuildError) as failed:
        fdlkit.build(config)
    return failed.value


@pytest.mark.parametrize(
    ("called", "arguments", "text"),
    FAILURES,
    ids=[
        f"{n}-{getattr(called, '__name__', called)}"
        for n, (called, *_) in enumerate(FAILURES)
    ],
)
def test_a_failure_three_levels_down_is_told_with_all_that_helps(
    called, arguments, text
):
    error = failure(called, arguments)
    assert len(error.lines) <= 12
    first, *said, given = error.lines
    assert error.path == "middle.items[0]"
    assert first.startswith("cannot build middle.items[0] (")
    assert first.endswith(f".{called.__qualname__})")
    assert f"  {text}" in "\n".join(said)
    # Every argument that was given, each with the line that gave it.
    assert given.startswith("  arguments: ")
    for name in arguments:
        assert re.search(rf"[ ,]{name}=.*? \({HERE}\)", given), given
    assert all(line.isprintable() for line in error.lines)
    assert all(len(line) < 500 for line in error.lines)
    # The exception itself comes first in the chain, with what it was raised from.
    assert error.__cause__ is not None
    name = type(error.__cause__).__name__
    assert name == "BuildError" or said[0].startswith(f"  {name}")


def test_there_are_twenty_really_different_failures():
    causes = {type(failure(called, given).__cause__) for called, given, _ in FAILURES}
    assert len(FAILURES) >= 20
    assert len(causes) >= 18


def test_what_an_exception_was_raised_from_stays_chained():
    error = failure(chained, {"port": 80})
    assert isinstance(error.__cause__, ConnectionError)
    assert isinstance(error.__cause__.__cause__, json.JSONDecodeError)


def test_values_are_shown_short_and_without_what_acts_on_a_terminal():
    odd = {"odd": Odd.ONE, "numbers": list(range(100_000)), "text": "ab\x1b" * 9_999}
    given = failure(greedy, odd).lines[-1]
    assert "odd=<Odd> (" in given
    assert "numbers=[0, 1, 2, 3," in given
    assert r"text='ab\x1bab\x1b" in given
    assert len(given) < 500


def test_the_origin_of_a_followed_default_is_the_default():
    config = fdl.Config(Outer, middle=fdl.Config(value_error, fdlkit.ref("^width")))
    with pytest.raises(BuildError) as failed:
        fdlkit.build(config)
    assert failed.value.lines[-1] == "  arguments: width=8 (ref ^width, default)"


def test_an_override_is_named_as_what_gave_an_argument():
    inner = fdl.Config(value_error)
    with written_by("--fdl_set", 2, "middle.items[0].width=7"):
        inner.width = 7
    config = fdl.Config(Outer, middle=fdl.Config(Middle, items=[inner]))
    with pytest.raises(BuildError) as failed:
        fdlkit.build(config)
    assert failed.value.lines[-1] == "  arguments: width=7 (from --fdl_set)"


def interrupted(width: int):
    raise KeyboardInterrupt


def test_an_interrupt_passes_through_and_a_next_build_works():
    with pytest.raises(KeyboardInterrupt):
        fdlkit.build(fdl.Config(interrupted, 1))
    assert fdlkit.build(fdl.Config(Checked, 1.0)) == Checked(1.0)


def test_a_users_text_is_printable_in_every_refusal():
    error = UserError("raised \x1b[31mValueError: a\nb", "  at \x07 c\td")
    assert error.lines == (r"raised \x1b[31mValueError: a", "  b", r"  at \x07 c d")
    assert str(error) == "\n".join(error.lines)
