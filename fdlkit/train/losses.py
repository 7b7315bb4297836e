"""Losses: per-element values; reduction and masking are the framework's business."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Integer, Real, Shaped

from fdlkit.keys import Key, get_key, resolve_keys
from fdlkit.train.masks import batch_mask, spread_mask, weighted
from fdlkit.train.named_axes import observed

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

    def mean(self, count: jax.Array | None = None) -> jax.Array:
        """The weighted mean of the values, []; 0, not 0/0, where all is padding.

        Args:
          count: The sum of weights that it is taken over, [] float32, where these are
            but some of the elements: then it is their share of the mean.
        """
        total = jnp.sum(weighted(self.values, self.weights))
        over = jnp.sum(self.weights) if count is None else count
        # Not `maximum(over, 1)`: weights may be parts of one.
        return total / jnp.where(over > 0, over, 1.0)


def total_loss(
    losses: Mapping[str, Elements], counts: Mapping[str, jax.Array] | None = None
) -> jax.Array:
    """What is minimized: the sum of factor times mean over all losses, [].

    Args:
      losses: Elements by the loss's name.
      counts: What each mean is taken over; None: the elements that are there.
    """
    means = [
        elements.factor * elements.mean(None if counts is None else counts[name])
        for name, elements in losses.items()
    ]
    return jnp.sum(jnp.stack(means)) if len(means) > 1 else means[0]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Loss:
    """One loss: a subclass says `values`, from what its `Key` fields lead to.

        @dataclasses.dataclass(frozen=True, kw_only=True)
        class Hinge(Loss):
            scores: Key = "preds"
            signs: Key = "batch.signs"

            def values(self, *, scores, signs):
                return jnp.maximum(0.0, 1.0 - signs * scores)

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

    def values(self, *args: Any, **read: Any) -> jax.Array:
        """The loss of each element, `[batch, ...]`.

        Args:
          **read: What each `Key` field (but `mask`) leads to, by the field's name.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no method `values`, the loss of each element"
        )

    def counts(self, *args: Any, **read: Any) -> jax.Array | None:
        """Which elements the loss itself counts, besides the mask; None: all.

        Args:
          **read: As for `values`.

        Returns:
          What the mask is multiplied by, of the shape of the values.
        """
        del args, read
        return None

    def __call__(self, context: Context, *, where: str = "loss") -> Elements:
        """The elements of a step's context: values, their weights and the factor.

        Args:
          context: The step's: `batch`, `preds`, `step` and what else a key reads.
          where: The config path of this loss, for messages.

        Raises:
          UserError: A key path that leads nowhere, or a mask that does not fit.
        """
        read = resolve_keys(self, context, where)
        mask = read.pop("mask", None)
        if mask is None:
            mask = batch_mask(context)
        values = observed(self.values, where, read).astype(jnp.float32)
        weights = spread_mask(mask, values.shape, where=where)
        own = self.counts(**read)
        if own is not None:
            weights = weights * own
        factor = self.weight
        if callable(factor):
            factor = factor(get_key(context, "step", wanted_by=f"{where}.weight"))
        return Elements(values, weights, jnp.asarray(factor, jnp.float32))


@dataclasses.dataclass(frozen=True, kw_only=True)
class CrossEntropy(Loss):
    """Softmax cross-entropy with integer labels, in nats.

    Attributes:
      logits: Key path of the scores, `[batch, ..., classes]`.
      labels: Key path of the right classes, `[batch, ...]` integers.
      unit: What one label is, in the plural.
      z_loss: The factor of the square of the logits' log-sum-exp, which keeps it near
        0 (Chowdhery et al., 2022, take 1e-4).
      label_smoothing: How much of each label is spread evenly over all classes, in
        [0, 1) (Szegedy et al., 2016).
      pad_label: Elements with this label are padding: they never count. None: there
        is none.
    """

    logits: Key = "preds"
    labels: Key = "batch.labels"
    unit: str = "tokens"
    z_loss: float = 0.0
    label_smoothing: float = 0.0
    pad_label: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.label_smoothing < 1:
            raise ValueError(
                f"label_smoothing={self.label_smoothing}: it is a share of a label, at "
                "least 0 and below 1"
            )
        if self.z_loss < 0:
            raise ValueError(
                f"z_loss={self.z_loss} is negative: it would reward large logits"
            )

    def values(
        self, *, logits: Float[Array, "*b classes"], labels: Integer[Array, "*b"]
    ) -> Float[Array, "*b"]:
        """Nats per label, `[batch, ...]`."""
        logits = logits.astype(jnp.float32)
        if self.pad_label is not None:
            # Padding may be no class at all, such as -1.
            labels = jnp.where(labels == self.pad_label, 0, labels)
        nats = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
        if not (self.label_smoothing or self.z_loss):
            return nats
        log_z = jax.nn.logsumexp(logits, axis=-1)
        if self.label_smoothing:
            share = self.label_smoothing
            even = log_z - jnp.mean(logits, axis=-1)
            nats = (1 - share) * nats + share * even
        if self.z_loss:
            nats = nats + self.z_loss * jnp.square(log_z)
        return nats

    def counts(self, *, labels: jax.Array, **read: Any) -> jax.Array | None:
        """1 for each label that is no padding."""
        del read
        if self.pad_label is None:
            return None
        return (labels != self.pad_label).astype(jnp.float32)


@dataclasses.dataclass(frozen=True, kw_only=True)
class MaskedLanguageModel(CrossEntropy):
    """Cross-entropy of the tokens that were masked, and of no others.

    Padding counts for nothing, masked or not (Devlin et al., 2019).

    Attributes:
      masked: Key path of which tokens the model had to guess: not 0 there,
        `[batch, time]`.
    """

    masked: Key = "batch.masked"

    def values(  # type: ignore[override]  # it reads one thing more
        self,
        *,
        logits: Float[Array, "*b classes"],
        labels: Integer[Array, "*b"],
        masked: Shaped[Array, "*b"],
    ) -> Float[Array, "*b"]:
        """Nats per label, masked or not, `[batch, ...]`."""
        del masked
        return CrossEntropy.values(self, logits=logits, labels=labels)

    def counts(  # type: ignore[override]
        self, *, labels: jax.Array, masked: jax.Array, **read: Any
    ) -> jax.Array | None:
        """1 for each masked label that is no padding."""
        guessed = (masked != 0).astype(jnp.float32)
        no_padding = CrossEntropy.counts(self, labels=labels, **read)
        return guessed if no_padding is None else guessed * no_padding


@dataclasses.dataclass(frozen=True, kw_only=True)
class RegressionLoss(Loss):
    """A penalty of the differences between predictions and labels.

    Attributes:
      predictions: Key path, `[batch, ...]`.
      labels: Key path, of the same shape.
      per_element: Whether each entry of a row counts by itself, for masks of more than
        rows; otherwise a row counts once, with the mean of its entries.
    """

    predictions: Key = "preds"
    labels: Key = "batch.labels"
    per_element: bool = False

    def values(
        self, *, predictions: Real[Array, "*b"], labels: Real[Array, "*b"]
    ) -> Float[Array, "rows ..."]:
        """The penalty of each row, `[batch]`, or of each element, `[batch, ...]`."""
        penalties = self.penalty(
            predictions.astype(jnp.float32), labels.astype(jnp.float32)
        )
        if self.per_element:
            return penalties
        return penalties.reshape(penalties.shape[0], -1).mean(axis=-1)

    def penalty(self, predictions: jax.Array, labels: jax.Array) -> jax.Array:
        """Of each difference, float32, of the shape of both."""
        raise NotImplementedError(
            f"{type(self).__name__} has no method `penalty` of predictions and labels"
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class SquaredError(RegressionLoss):
    """L2: squared differences of predictions and labels."""

    def penalty(self, predictions: jax.Array, labels: jax.Array) -> jax.Array:
        """The square."""
        return jnp.square(predictions - labels)


@dataclasses.dataclass(frozen=True, kw_only=True)
class AbsoluteError(RegressionLoss):
    """L1: absolute differences of predictions and labels."""

    def penalty(self, predictions: jax.Array, labels: jax.Array) -> jax.Array:
        """The absolute value; its gradient is 0 where there is no difference."""
        return jnp.abs(predictions - labels)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Huber(RegressionLoss):
    """Half the square of small differences, a straight line beyond (Huber, 1964).

    Attributes:
      delta: Where the line begins, in the labels' unit; positive. It is also the
        line's slope.
    """

    delta: float = 1.0

    def __post_init__(self) -> None:
        if self.delta <= 0:
            raise ValueError(
                f"delta={self.delta}: it is how large a difference is where the line "
                "begins, so above 0"
            )

    def penalty(self, predictions: jax.Array, labels: jax.Array) -> jax.Array:
        """Optax's."""
        return optax.huber_loss(predictions, labels, delta=self.delta)


@dataclasses.dataclass(frozen=True, kw_only=True)
class LogCosh(RegressionLoss):
    """The logarithm of the hyperbolic cosine of differences.

    Half the square of small ones and the absolute value less log 2 of large ones, with
    all derivatives, and no scale to choose.
    """

    def penalty(self, predictions: jax.Array, labels: jax.Array) -> jax.Array:
        """Optax's."""
        return optax.log_cosh(predictions, labels)
