"""Metrics: states that merge, exact however the rows are cut into batches."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Integer

from fdlkit.data.tokenizer import Tokenizer
from fdlkit.keys import Key, resolve_keys
from fdlkit.train.exact import exact_ratio, exact_sum
from fdlkit.train.losses import Context, Elements
from fdlkit.train.masks import batch_mask, spread_mask, weighted
from fdlkit.train.named_axes import observed

State = Any


@dataclasses.dataclass(frozen=True, kw_only=True)
class Metric:
    """A number (or several) over a data set: a subclass says `state` and `result`.

    `state` is traced into the step and is one batch's share; `merge` and `result` run
    on the host, with NumPy, at log points only. Numerators and denominators stay apart
    until `result`, so that ragged batches weigh what they should.

    Attributes:
      mask: Key path of how much each element counts. None: `batch.mask` where a batch
        has one, else all count the same.
    """

    mask: Key | None = None

    def state(self, *args: Any, **read: Any) -> State:
        """One batch's share, a tree of arrays, float32 or int32.

        Args:
          **read: What each `Key` field leads to, by the field's name; `mask` always:
            `[batch, ...]` float32, or None where everything counts.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no method `state`, what one batch comes to"
        )

    def merge(self, a: State, b: State) -> State:
        """The state of what `a` and `b` are of, on the host; associative.

        Sums of leaves, in float64 and int64. Another merge than a sum is overridden
        here; leaves come as NumPy arrays.
        """
        return jax.tree.map(lambda x, y: _widened(x) + _widened(y), a, b)

    def result(self, state: State) -> float | Mapping[str, float]:
        """The number that a state comes to, or several by name; on the host."""
        raise NotImplementedError(
            f"{type(self).__name__} has no method `result`, the number of a state"
        )

    def read(self, context: Context, *, where: str) -> dict[str, Any]:
        """The arguments of `state`, from a step's context.

        Raises:
          UserError: A key path that leads nowhere.
        """
        read = resolve_keys(self, context, where)
        mask = read.pop("mask", None)
        if mask is None:
            mask = batch_mask(context)
        return read | {"mask": None if mask is None else jnp.asarray(mask, jnp.float32)}

    def __call__(self, context: Context, *, where: str = "metrics") -> State:
        """The state of a step's context; `where` is the config path, for messages."""
        return observed(self.state, where, self.read(context, where=where))


def _widened(leaf: Any) -> Any:
    array = np.asarray(leaf)
    return array.astype(np.int64 if array.dtype.kind in "iub" else np.float64)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ratio(Metric):
    """A quotient of two sums over all elements that count.

    A batch's state has a number a row and the host adds these up without rounding: any
    cut of the rows into batches, over any number of devices and processes, gives the
    same digits.
    """

    def share(self, values: jax.Array, mask: jax.Array | None) -> State:
        """The state of a weighted mean of some values: the simplest `state`.

        Args:
          values: `[batch, ...]`; or [], what a step has once, which no mask is for.
          mask: Of the shape of the values, or of its first dims.
        """
        if not values.ndim:
            mask = None
        weights = spread_mask(mask, values.shape, where=type(self).__name__)
        return quotient(weighted(values.astype(jnp.float32), weights), weights)

    def merge(self, a: State, b: State) -> State:
        """Sums of all numbers in a leaf, without rounding."""
        return jax.tree.map(lambda x, y: exact_sum(x) + exact_sum(y), a, b)

    def result(self, state: State) -> float:
        """The quotient; 0 where nothing was counted."""
        return exact_ratio(state["numerator"], state["denominator"])


def quotient(numerator: jax.Array, denominator: jax.Array) -> dict[str, jax.Array]:
    """The state of a `Ratio`: sums of each row, `[batch]` float32 both.

    Args:
      numerator: `[batch, ...]`, or [] for what a step has once.
      denominator: The same.
    """
    return {"numerator": _row_sums(numerator), "denominator": _row_sums(denominator)}


def _row_sums(x: jax.Array) -> jax.Array:
    return jnp.sum(x.reshape(*x.shape[:1], -1), axis=-1, dtype=jnp.float32)


@dataclasses.dataclass(frozen=True, kw_only=True)
class MeanLoss(Ratio):
    """The mean of a loss over all elements that count.

    Attributes:
      loss: Key path of one loss, `losses.NAME`, or of all (`losses`): then it is the
        total that is trained on, the sum of factor times mean.
    """

    loss: Key = "losses"

    def state(
        self, *, loss: Elements | Mapping[str, Elements], mask: jax.Array | None
    ) -> State:
        """For each loss the weighted sum and the sum of weights, `[batch]`."""
        del mask  # the weights of a loss have it
        if isinstance(loss, Elements):
            return {"loss": loss_share(loss)}
        states = {name: loss_share(elements) for name, elements in loss.items()}
        for name, elements in loss.items():
            states[name]["numerator"] *= elements.factor
        return states

    def result(self, state: State) -> float:
        """The mean; the total of the means where there are several."""
        return math.fsum(Ratio.result(self, share) for share in state.values())


def loss_share(loss: Elements) -> dict[str, jax.Array]:
    """The state of a loss's mean."""
    return quotient(weighted(loss.values, loss.weights), loss.weights)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Perplexity(Ratio):
    """The exponential of a mean cross-entropy.

    Attributes:
      loss: Key path of the cross-entropy in nats, without z-loss or smoothing.
    """

    loss: Key = "losses.loss"

    def state(self, *, loss: Elements, mask: jax.Array | None) -> State:
        """Nats and labels."""
        del mask  # the weights of the loss have it
        return loss_share(loss)

    def result(self, state: State) -> float:
        """The perplexity, at least 1; infinite where it is past any float."""
        nats = Ratio.result(self, state)
        try:
            return math.exp(nats)
        except OverflowError:
            return math.inf


@dataclasses.dataclass(frozen=True, kw_only=True)
class BitsPerByte(Ratio):
    """Cross-entropy in bits per byte of text, whatever the tokenizer.

    Attributes:
      tokenizer: Says how many bytes of text each token stands for.
      labels: Key path of the predicted tokens, `[batch, time]`.
      loss: Key path of their cross-entropy in nats.
    """

    tokenizer: Tokenizer
    labels: Key = "batch.labels"
    loss: Key = "losses.loss"

    def state(
        self,
        *,
        labels: Integer[Array, "batch time"],
        loss: Elements,
        mask: jax.Array | None,
    ) -> State:
        """Nats that the model spends, and bytes of text that they encode."""
        del mask  # the weights of the loss have it
        sizes = jnp.asarray(self.tokenizer.bytes_per_token, jnp.float32)[labels]
        nats = weighted(loss.values, loss.weights)
        return quotient(nats, sizes * loss.weights)

    def result(self, state: State) -> float:
        """Bits per byte."""
        return Ratio.result(self, state) / math.log(2)
