"""Descriptions of objects tell apart what is different, and nothing else."""

from __future__ import annotations

import functools
from typing import Any

import flax.linen as nn
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from fdlkit.codegen.described import describe, difference
from tests.codegen.things import Box, Pair, make_scaler

ONE, OTHER = [1], [1]


class Number(int):
    pass


class Names(list):
    pass


def schedule(peak):
    return optax.warmup_cosine_decay_schedule(0.0, peak, 10, 100)


def unfinished() -> Any:
    whole: list[Any] = [1]
    whole.append(whole)
    return whole


SAME = {
    "numbers": lambda: [1, 1.0, True, None, float("nan")],
    "arrays": lambda: [np.arange(3), jnp.ones(2, jnp.bfloat16)],
    "closures": lambda: make_scaler(3),
    "optimizers": lambda: optax.adamw(schedule(0.1), b2=0.98),
    "modules": lambda: nn.Sequential([nn.Dense(3), nn.relu]),
    "circles": unfinished,
    "equal tuples": lambda: [(1, ONE), (1, ONE)],
}

DIFFERENT = {
    "types": ([1], [1.0]),
    "numbers of a type of their own": (Number(1), Number(2)),
    "lists of a type of their own": (Names("a"), Names("b")),
    "sets": ({1}, {2}),
    "zeros": (0.0, -0.0),
    "sharing": ([ONE, ONE], [ONE, OTHER]),
    "sharing the other way": ([ONE, OTHER], [ONE, ONE]),
    "dtypes": (np.ones(1, np.float32), np.ones(1)),
    "what is closed over": (make_scaler(3), make_scaler(4)),
    "code": (lambda x: x + 1, lambda x: x + 2),
    "defaults": (lambda x=1: x, lambda x=2: x),
    "optimizers": (optax.adamw(0.1, b2=0.9), optax.adamw(0.1, b2=0.98)),
    "schedules": (optax.sgd(schedule(0.1)), optax.sgd(schedule(0.2))),
    "modules": (nn.Dense(3), nn.Dense(4)),
    "bound arguments": (functools.partial(Box, a=1), functools.partial(Box, a=2)),
    "more": ([1], [1, 2]),
    "less": ({"a": 1, "b": 2}, {"a": 1}),
    "names": (Pair(1, 2), (1, 2)),
}


@pytest.mark.parametrize("name", SAME)
def test_what_is_made_twice_is_the_same(name):
    assert difference(describe(SAME[name]()), describe(SAME[name]())) is None


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_is_different_is_told_apart(name):
    one, two = DIFFERENT[name]
    assert difference(describe(one), describe(two)) is not None
    assert difference(describe(two), describe(one)) is not None


def test_a_thousand_levels_and_a_diamond_of_thirty_are_described():
    deep: Any = 1
    for _ in range(1000):
        deep = Box(a=[deep])
    wide: Any = (1,)
    for _ in range(30):
        wide = (wide, wide)
    assert difference(describe([deep, wide]), describe([deep, wide])) is None
