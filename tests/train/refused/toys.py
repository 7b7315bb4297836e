"""Small parts of which a test makes what cannot be."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from fdlkit.data.pipeline import Pipeline
from fdlkit.data.source import InMemory
from fdlkit.keys import Key
from fdlkit.train.losses import SquaredError
from fdlkit.train.metrics import Metric, Ratio
from tests.train.toys import examples, make_trainer

Squares = SquaredError


@dataclasses.dataclass(frozen=True, kw_only=True)
class Total(Ratio):
    """The mean of what a key leads to."""

    values: Key = "preds"

    def state(self, *, values, mask):
        return self.share(values, mask)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Mine(Metric):
    """Whatever state and result a test wants."""

    make: Callable[[Any], Any] = jnp.sum
    give: Callable[[Any], Any] = float
    preds: Key = "preds"

    def state(self, *, preds, mask):
        del mask
        return self.make(preds)

    def result(self, state):
        return self.give(state)


def fails(*_):
    raise ZeroDivisionError("of mine")


def checked(**changes):
    """What a run says of a trainer before it begins."""
    return lambda _: make_trainer(**changes).check()


def made(part, *args, **named):
    """What a part says while it is made."""
    return lambda _: part(*args, **named)


def with_extra() -> Pipeline:
    """Training data with an entry that evaluation lacks."""
    rows = examples()
    return Pipeline(
        source=InMemory(rows | {"extra": rows["labels"]}), batch_size=8, seed=3
    )


def rows(count: int = 21, **changes) -> Pipeline:
    """Data to evaluate on."""
    return Pipeline(
        **{
            "source": InMemory(examples(count, seed=1)),
            "batch_size": 8,
            "shuffle": False,
            "num_epochs": 1,
            "remainder": "pad",
        }
        | changes
    )


def ones(*shape) -> np.ndarray:
    return np.ones(shape, np.float32)
