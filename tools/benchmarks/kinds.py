"""Dispatch of a jitted function of an NNX model's variables, beside a Linen model's.

Both have 200 arrays of a few numbers, and the function only adds one to each, so a call
costs what it costs to hand them over: after it is compiled, all that is left of a model
is the tree of its variables. In one process, in turn, in CPU time of the calling
thread; the Linen model against itself is the A/A.
"""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Callable

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from fdlkit.train.models import LinenModel, Model
from fdlkit.train.nnx_models import NnxModel

LAYERS = 100  # of a kernel and a bias each
CALLS = 100  # in a row, of one kind


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


def caller(model: Model) -> Callable[[], float]:
    """A function that makes `CALLS` calls and returns their median in microseconds."""
    inputs = {"x": np.zeros((8, 2), np.float32)}
    boxed = jax.eval_shape(lambda: model.init(jax.random.key(0), inputs))
    params = jax.tree.map(
        lambda array: jnp.zeros(array.shape, array.dtype),
        nn.meta.unbox(boxed)["params"],
    )
    if len(jax.tree.leaves(params)) != 2 * LAYERS:
        raise ValueError(f"there are not {2 * LAYERS} arrays of parameters")
    call = jax.jit(lambda tree: jax.tree.map(lambda x: x + 1, tree), donate_argnums=0)
    params = call(params)  # compiles

    def run() -> float:
        nonlocal params
        spent = []
        for _ in range(CALLS):
            began = time.thread_time()
            params = call(params)
            spent.append(time.thread_time() - began)
            jax.block_until_ready(params)
        return statistics.median(spent) * 1e6

    return run


def main(rounds: int) -> None:
    """Prints medians, their ratio, and the A/A ratio."""
    linen, again = caller(LinenModel(LinenStack())), caller(LinenModel(LinenStack()))
    adapted = caller(NnxModel(functools.partial(NnxStack)))
    taken: dict[str, list[float]] = {"linen": [], "linen again": [], "nnx": []}
    for _ in range(rounds):
        for name, run in zip(taken, (linen, again, adapted), strict=True):
            taken[name].append(run())
    medians = {name: statistics.median(values) for name, values in taken.items()}
    for name, value in medians.items():
        print(f"{name:12} {value:8.1f} µs a call")
    print(f"nnx / linen   {medians['nnx'] / medians['linen']:.3f}   (at most 1.3)")
    print(f"A/A           {medians['linen again'] / medians['linen']:.3f}")
