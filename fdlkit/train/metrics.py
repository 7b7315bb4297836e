"""Metrics of an evaluation: a numerator and a denominator, summed apart."""

from __future__ import annotations

import dataclasses
import math
from typing import Protocol

import jax
import jax.numpy as jnp

from fdlkit.data.tokenizer import Tokenizer
from fdlkit.keys import get_key
from fdlkit.train.losses import Context


class Metric(Protocol):
    """A ratio over a data set, exact however its rows are cut into batches."""

    def __call__(self, context: Context) -> tuple[jax.Array, jax.Array]:
        """This batch's share of the numerator and of the denominator, [] float32.

        The context holds `batch`, `preds`, `losses` (values, `[batch, ...]`) and
        `weights` (how much each counts, of the same shape).
        """


@dataclasses.dataclass(frozen=True, kw_only=True)
class MeanLoss:
    """The mean of the loss over all elements that count."""

    def __call__(self, context: Context) -> tuple[jax.Array, jax.Array]:
        """Sums of weighted losses and of weights."""
        weights = context["weights"]
        return jnp.sum(context["losses"] * weights), jnp.sum(weights)


@dataclasses.dataclass(frozen=True, kw_only=True)
class BitsPerByte:
    """Cross-entropy in bits per byte of text, whatever the tokenizer.

    Attributes:
      tokenizer: Says how many bytes of text each token stands for.
      labels: Key path of the predicted tokens, `[batch, time]`.
    """

    tokenizer: Tokenizer
    labels: str = "batch.labels"

    def __call__(self, context: Context) -> tuple[jax.Array, jax.Array]:
        """Bits that the model spends, and bytes of text that they encode."""
        labels = get_key(context, self.labels, wanted_by="metrics.labels")
        sizes = jnp.asarray(self.tokenizer.bytes_per_token, jnp.float32)[labels]
        bits = jnp.sum(context["losses"] * context["weights"]) / math.log(2)
        return bits, jnp.sum(sizes * context["weights"])
