"""Losses: per-element values; reduction and masking are the step's business."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import optax

from fdlkit.keys import get_key

Context = Mapping[str, Any]


class Loss(Protocol):
    """Per-element losses from a step's context."""

    @property
    def unit(self) -> str:
        """What one element is, in the plural; names the logged rate."""

    def __call__(self, context: Context) -> jax.Array:
        """Values of any shape `[batch, ...]`, float32."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class CrossEntropy:
    """Softmax cross-entropy with integer labels, in nats.

    Attributes:
      logits: Key path of the scores, `[batch, ..., classes]`.
      labels: Key path of the right classes, `[batch, ...]` integers.
      unit: What one label is, in the plural.
    """

    logits: str = "preds"
    labels: str = "batch.labels"
    unit: str = "tokens"

    def __call__(self, context: Context) -> jax.Array:
        """Nats per label, `[batch, ...]`."""
        logits = get_key(context, self.logits, wanted_by="loss.logits")
        labels = get_key(context, self.labels, wanted_by="loss.labels")
        return optax.softmax_cross_entropy_with_integer_labels(
            logits.astype(jnp.float32), labels
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class SquaredError:
    """Squared differences of predictions and labels.

    Attributes:
      predictions: Key path, `[batch, ...]`.
      labels: Key path, of the same shape.
      unit: What one row of a batch is, in the plural.
    """

    predictions: str = "preds"
    labels: str = "batch.labels"
    unit: str = "examples"

    def __call__(self, context: Context) -> jax.Array:
        """The mean squared difference of each row, `[batch]`."""
        predictions = get_key(context, self.predictions, wanted_by="loss.predictions")
        labels = get_key(context, self.labels, wanted_by="loss.labels")
        squares = jnp.square(predictions.astype(jnp.float32) - labels)
        return squares.reshape(squares.shape[0], -1).mean(axis=-1)


def weights_of(values: jax.Array, batch: Mapping[str, Any]) -> jax.Array:
    """How much each loss value counts: a batch's `mask`, else 1, `[batch, ...]`.

    `mask` is the one reserved name in a batch: rows that only fill the last batch
    of an evaluation, and tokens that are not to be predicted, have 0 there. It has
    the shape of `values` or fewer dims.
    """
    if "mask" not in batch:
        return jnp.ones_like(values)
    mask = jnp.asarray(batch["mask"], values.dtype)
    extra = values.ndim - mask.ndim
    return jnp.broadcast_to(mask.reshape(mask.shape + (1,) * extra), values.shape)
