"""Losses: per-element values; reduction and masking are the framework's business."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from fdlkit.errors import UserError
from fdlkit.keys import Key, get_key, resolve_keys

Context = Mapping[str, Any]


class Elements(NamedTuple):
    """What a loss says of a batch, before it is one number.

    Attributes:
      values: A loss each, `[batch, ...]` float32.
      weights: How much each counts, of the same shape; 0 for padding.
      factor: What the mean is multiplied by in the total, [] float32.
    """

    values: jax.Array
    weights: jax.Array
    factor: jax.Array

    def total(self) -> jax.Array:
        """The weighted sum of the values, []; what counts nothing adds nothing."""
        return jnp.sum(jnp.where(self.weights != 0, self.values * self.weights, 0.0))

    def mean(self) -> jax.Array:
        """The weighted mean of the values, []; 0, not 0/0, where all is padding."""
        return self.total() / jnp.maximum(jnp.sum(self.weights), 1.0)


def total_loss(losses: Mapping[str, Elements]) -> jax.Array:
    """What is minimized: the sum of factor times mean over all losses, []."""
    means = [elements.factor * elements.mean() for elements in losses.values()]
    return jnp.sum(jnp.stack(means)) if len(means) > 1 else means[0]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Loss:
    """One loss: a subclass says `values`, from what its `Key` fields lead to.

    ```
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Hinge(Loss):
        scores: Key = "preds"
        signs: Key = "batch.signs"

        def values(self, *, scores, signs):
            return jnp.maximum(0.0, 1.0 - signs * scores)
    ```

    Attributes:
      weight: What its mean is multiplied by in the sum of all losses: a number, or a
        schedule (a function of the step, from 0).
      mask: Key path of how much each element counts: of the shape of the values, or of
        its first dims. None: `batch.mask` where a batch has one, else all count 1.
      unit: What one element is, in the plural; names the logged rate.
    """

    weight: float | optax.Schedule = 1.0
    mask: Key | None = None
    unit: str = "examples"

    def values(self, **read: Any) -> jax.Array:
        """The loss of each element, `[batch, ...]`.

        Args:
          **read: What each `Key` field (but `mask`) leads to, by the field's name.
        """
        raise NotImplementedError(f"{type(self).__name__} says no `values`")

    def __call__(self, context: Context, *, where: str = "loss") -> Elements:
        """The elements of a step's context: values, their weights and the factor.

        Args:
          context: The step's: `batch`, `preds`, `step` and what else a key reads.
          where: The config path of this loss, for messages.
        """
        read = resolve_keys(self, context, where)
        mask = read.pop("mask", None)
        if mask is None:
            mask = batch_mask(context)
        values = jnp.asarray(self.values(**read), jnp.float32)
        factor = self.weight
        if callable(factor):
            factor = factor(get_key(context, "step", wanted_by=f"{where}.weight"))
        weights = spread_mask(mask, values.shape, where=where)
        return Elements(values, weights, jnp.asarray(factor, jnp.float32))


def batch_mask(context: Context) -> Any | None:
    """The `mask` of the batch, where it has one.

    It is the one reserved name in a batch: rows that only fill the last batch of an
    evaluation, and tokens that are not to be predicted, have 0 there.
    """
    batch = context.get("batch")
    return batch.get("mask") if isinstance(batch, Mapping) else None


def spread_mask(mask: Any | None, shape: tuple[int, ...], *, where: str) -> jax.Array:
    """How much each element counts, float32 of `shape`.

    Args:
      mask: Of `shape`, or of its first dims; None: every element counts 1.
      shape: The elements', `[batch, ...]`.
      where: Whose mask it is, for the message.

    Raises:
      UserError: The mask has other dims.
    """
    if mask is None:
        return jnp.ones(shape, jnp.float32)
    weights = jnp.asarray(mask, jnp.float32)
    extra = len(shape) - weights.ndim
    fits = extra >= 0 and all(
        have in (want, 1) for have, want in zip(weights.shape, shape, strict=False)
    )
    if not fits:
        raise UserError(
            f"{where}: a mask {list(weights.shape)} does not fit elements "
            f"{list(shape)}",
            "a mask has the shape of the elements, or their first dims",
            f"set {where}.mask to the key path of one that has, or to None and leave "
            "`mask` out of the batch",
        )
    return jnp.broadcast_to(weights.reshape(weights.shape + (1,) * extra), shape)


@dataclasses.dataclass(frozen=True, kw_only=True)
class CrossEntropy(Loss):
    """Softmax cross-entropy with integer labels, in nats.

    Attributes:
      logits: Key path of the scores, `[batch, ..., classes]`.
      labels: Key path of the right classes, `[batch, ...]` integers.
      unit: What one label is, in the plural.
    """

    logits: Key = "preds"
    labels: Key = "batch.labels"
    unit: str = "tokens"

    def values(self, *, logits: jax.Array, labels: jax.Array) -> jax.Array:
        """Nats per label, `[batch, ...]`."""
        return optax.softmax_cross_entropy_with_integer_labels(
            logits.astype(jnp.float32), labels
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class SquaredError(Loss):
    """Squared differences of predictions and labels.

    Attributes:
      predictions: Key path, `[batch, ...]`.
      labels: Key path, of the same shape.
    """

    predictions: Key = "preds"
    labels: Key = "batch.labels"

    def values(self, *, predictions: jax.Array, labels: jax.Array) -> jax.Array:
        """The mean squared difference of each row, `[batch]`."""
        squares = jnp.square(predictions.astype(jnp.float32) - labels)
        return squares.reshape(squares.shape[0], -1).mean(axis=-1)
