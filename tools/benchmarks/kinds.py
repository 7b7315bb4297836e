"""Dispatch of a step whose model is an NNX module, beside a Linen module's.

Both have 200 arrays of a few numbers, so that a call costs what it costs to hand the
arrays over. In one process, in turn; the Linen step against itself is the A/A.
"""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Callable
from typing import Any

import flax.linen as nn
import jax
import numpy as np
import optax
from flax import nnx

from fdlkit.data.pipeline import Pipeline
from fdlkit.data.source import InMemory
from fdlkit.train.losses import SquaredError
from fdlkit.train.nnx_models import NnxModel
from fdlkit.train.trainer import Trainer

LAYERS = 100  # of a kernel and a bias each
CALLS = 50  # in a row, of one kind


class LinenStack(nn.Module):
    """Layers of width 2."""

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """`[batch, 2]` to `[batch, 2]`."""
        for _ in range(LAYERS):
            x = nn.Dense(2)(x)
        return x


class NnxStack(nnx.Module):
    """The same layers."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List([nnx.Linear(2, 2, rngs=rngs) for _ in range(LAYERS)])

    def __call__(self, x: jax.Array) -> jax.Array:
        """`[batch, 2]` to `[batch, 2]`."""
        for layer in self.layers:
            x = layer(x)
        return x


def stepper(model: Any) -> Callable[[], float]:
    """A function that takes `CALLS` steps and returns microseconds a call."""
    x = np.zeros((8, 2), np.float32)
    trainer = Trainer(
        model=model,
        inputs={"x": "batch.x"},
        loss=SquaredError(),
        train_data=Pipeline(source=InMemory({"x": x, "labels": x}), batch_size=8),
        optimizer=optax.sgd(1e-3),
        num_train_steps=1_000_000,
    )
    setup = trainer.setup
    step = jax.jit(setup.train_step, donate_argnums=0)
    batch = jax.device_put(next(trainer.train_data.batches()))
    state = trainer.init_state()
    arrays = len(jax.tree.leaves(state.params))
    if arrays != 2 * LAYERS:
        raise ValueError(f"{arrays} arrays of parameters, not {2 * LAYERS}")

    def run() -> float:
        nonlocal state
        spent = 0.0
        for _ in range(CALLS):
            began = time.perf_counter()
            state, *_ = step(state, batch)
            spent += time.perf_counter() - began
            jax.block_until_ready(state)
        return spent / CALLS * 1e6

    run()  # compiles
    return run


def main(rounds: int) -> None:
    """Prints medians, their ratio, and the A/A ratio."""
    linen, again = stepper(LinenStack()), stepper(LinenStack())
    adapted = stepper(NnxModel(functools.partial(NnxStack)))
    taken: dict[str, list[float]] = {"linen": [], "linen again": [], "nnx": []}
    for _ in range(rounds):
        for name, run in zip(taken, (linen, again, adapted), strict=True):
            taken[name].append(run())
    medians = {name: statistics.median(values) for name, values in taken.items()}
    for name, value in medians.items():
        print(f"{name:12} {value:8.1f} µs a call")
    print(f"nnx / linen   {medians['nnx'] / medians['linen']:.3f}   (at most 1.3)")
    print(f"A/A           {medians['linen again'] / medians['linen']:.3f}")
