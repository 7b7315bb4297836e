"""What both sides of the comparison with Kauldron train: models, rows and marks.

It is imported in two environments and so has nothing of either trainer. Initial values
follow from the shape of a parameter alone, so that both sides start from the same ones.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

VOCAB, TIME, WIDTH, HEADS, LAYERS = 256, 64, 64, 4, 2


@dataclasses.dataclass(frozen=True, kw_only=True)
class Asked:
    """What a side is asked to run.

    Attributes:
      model: `mlp` or `transformer`.
      steps: How many updates.
      log_every: Steps between log points.
      first: The step with which measuring begins.
      last: The step with which it ends.
      workdir: An empty folder.
      began: When the process was started, in seconds of `time.time`.
    """

    model: str
    steps: int
    log_every: int
    first: int
    last: int
    workdir: str
    began: float


def asked() -> Asked:
    """What the command line says, as JSON."""
    return Asked(**json.loads(sys.argv[1]))


class Marks:
    """Times at which the loop's thread asks for batches, the first one being 1."""

    def __init__(self, asked: Asked):
        self._asked = asked
        self._count = 0
        self._times: dict[int, tuple[float, float]] = {}
        self.start = 0.0

    def marked(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The batches, each told of as it is asked for."""
        for batch in batches:
            self.next_batch()
            yield batch

    def next_batch(self) -> None:
        """Tells that a batch was asked for."""
        self._count += 1
        if self._count == 2:  # step 1 is compiled and under way
            self.start = time.time() - self._asked.began
        if self._count in (self._asked.first, self._asked.last):
            self._times[self._count] = (time.perf_counter(), time.thread_time())

    def told(self, loss: float) -> None:
        """Prints what was measured as the last line of stdout."""
        (wall0, cpu0), (wall1, cpu1) = (
            self._times[step] for step in (self._asked.first, self._asked.last)
        )
        count = self._asked.last - self._asked.first
        found = {
            "wall": (wall1 - wall0) / count * 1e6,
            "cpu": (cpu1 - cpu0) / count * 1e6,
            "start": self.start,
            "loss": loss,
        }
        print(json.dumps(found), flush=True)


def fixed(key: Any, shape: tuple[int, ...], dtype: Any = jnp.float32) -> jax.Array:
    """An initializer that no random key moves: normal, scaled by the fan-in."""
    del key
    draw = np.random.default_rng(list(shape)).normal(size=shape)
    return jnp.asarray(draw / np.sqrt(shape[0]), dtype)


class TinyMlp(nn.Module):
    """About 5,000 parameters, `[batch, 32]` to the same: a step of microseconds."""

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """Two layers."""
        x = nn.tanh(nn.Dense(72, kernel_init=fixed)(x))
        return nn.Dense(32, kernel_init=fixed)(x)


class SmallTransformer(nn.Module):
    """A decoder of two layers, `[batch, time]` tokens to `[batch, time, vocab]`."""

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """Pre-norm, causal, learned positions."""
        mask = nn.make_causal_mask(x)
        x = nn.Embed(VOCAB, WIDTH, embedding_init=fixed)(x)
        x = x + self.param("positions", fixed, (TIME, WIDTH))
        for _ in range(LAYERS):
            y = nn.LayerNorm()(x)
            attend = nn.MultiHeadDotProductAttention(HEADS, kernel_init=fixed)
            x = x + attend(y, y, mask=mask)
            y = nn.Dense(4 * WIDTH, kernel_init=fixed)(nn.LayerNorm()(x))
            x = x + nn.Dense(WIDTH, kernel_init=fixed)(nn.gelu(y))
        return nn.Dense(VOCAB, kernel_init=fixed)(nn.LayerNorm()(x))


def model_of(name: str) -> Callable[[], nn.Module]:
    """The class of a model."""
    return {"mlp": TinyMlp, "transformer": SmallTransformer}[name]


def batch_of(name: str) -> dict[str, np.ndarray]:
    """The one batch, inputs `x` and `labels`, which every step is made on."""
    rng = np.random.default_rng(0)
    if name == "mlp":
        x = rng.normal(size=(128, 32)).astype(np.float32)
        return {"x": x, "labels": np.flip(x, 1).copy()}
    tokens = rng.integers(0, VOCAB, (8, TIME + 1)).astype(np.int32)
    return {"x": tokens[:, :-1].copy(), "labels": tokens[:, 1:].copy()}


def optimizer() -> optax.GradientTransformation:
    """Adam."""
    return optax.adam(1e-3)


def final_loss(name: str, params: Any) -> float:
    """The mean loss of the batch at some parameters."""
    batch = batch_of(name)
    preds: Any = model_of(name)().apply({"params": params}, batch["x"])
    if name == "mlp":
        return float(jnp.mean(jnp.square(preds - batch["labels"])))
    nats = optax.softmax_cross_entropy_with_integer_labels(preds, batch["labels"])
    return float(jnp.mean(nats))
