"""Metrics of numbers: means, errors, norms; and any metric without its NaNs."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Real

from fdlkit.keys import Key
from fdlkit.train.losses import Context, Elements
from fdlkit.train.masks import spread_mask
from fdlkit.train.metrics import Metric, Ratio, State, quotient
from fdlkit.train.named_axes import observed


@dataclasses.dataclass(frozen=True, kw_only=True)
class Mean(Ratio):
    """The mean of what a key path leads to.

    Attributes:
      values: Key path, `[batch, ...]`, or a number that a step has once.
    """

    values: Key

    def state(self, *, values: jax.Array, mask: jax.Array | None) -> State:
        """Sums of values and of weights."""
        return self.share(values, mask)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rmse(Ratio):
    """The root of the mean squared difference of predictions and labels.

    The root is taken of the mean over the whole set, so it is not the mean of the
    batches' roots.

    Attributes:
      predictions: Key path, `[batch, ...]`.
      labels: Key path, of the same shape.
    """

    predictions: Key = "preds"
    labels: Key = "batch.labels"

    def state(
        self,
        *,
        predictions: Real[Array, "*b"],
        labels: Real[Array, "*b"],
        mask: jax.Array | None,
    ) -> State:
        """Sums of squares and of weights."""
        errors = predictions.astype(jnp.float32) - labels.astype(jnp.float32)
        return self.share(jnp.square(errors), mask)

    def result(self, state: State) -> float:
        """The root, in the labels' unit."""
        return math.sqrt(Ratio.result(self, state))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Norm(Ratio):
    """The mean length of the vectors along an axis.

    Attributes:
      values: Key path, `[batch, ..., features]`.
      axis: The axis, or several, of which each vector is; not the first.
    """

    values: Key
    axis: int | tuple[int, ...] = -1

    def state(self, *, values: jax.Array, mask: jax.Array | None) -> State:
        """Sums of lengths and of weights."""
        squares = jnp.square(values.astype(jnp.float32))
        return self.share(jnp.sqrt(jnp.sum(squares, axis=self.axis)), mask)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TreeNorm(Ratio):
    """The length of all arrays below a key path, as one vector.

    It is for what a step has once: `params`, `grads`, `updates` and what is in them.
    Over several batches it is the root of the mean square.

    Attributes:
      tree: Key path of an array or of a tree of arrays.
    """

    tree: Key = "params"

    def state(self, *, tree: Any, mask: jax.Array | None) -> State:
        """The sum of squares, and 1."""
        del mask  # of rows, of which a tree has none
        wide = jax.tree.map(lambda x: x.astype(jnp.float32), tree)
        squares = jnp.asarray(optax.tree.norm(wide, squared=True), jnp.float32)
        return quotient(squares, jnp.ones((), jnp.float32))

    def result(self, state: State) -> float:
        """The length."""
        return math.sqrt(Ratio.result(self, state))


@dataclasses.dataclass(frozen=True, kw_only=True)
class SkipNan(Metric):
    """A metric over the elements in which nothing is NaN.

    An element is one entry of the array with the fewest dims that the metric reads: a
    label. Of a loss it is an entry of its values; of a tree it is each number, and NaN
    is 0 there.

    Attributes:
      metric: The metric.
      mask: Instead of the metric's own mask; None: its own.
    """

    metric: Metric

    def __call__(self, context: Context, *, where: str = "metrics") -> State:
        """The state of the metric, without what is NaN."""
        metric = self.metric
        if self.mask is not None:
            metric = dataclasses.replace(metric, mask=self.mask)
        read = metric.read(context, where=f"{where}.metric")
        mask = read.pop("mask")
        arrays = [x for x in read.values() if getattr(x, "ndim", 0)]
        if arrays:
            shape = min((x.shape for x in arrays), key=len)
            counts = spread_mask(mask, shape, where=where)
            for array in arrays:
                if array.shape[: len(shape)] == shape:  # or the metric itself tells
                    over = tuple(range(len(shape), array.ndim))
                    has_nan = jnp.any(jnp.isnan(array), axis=over)
                    counts = jnp.where(has_nan, 0.0, counts)
            mask = counts
        read = _without_nan(read) | {"mask": mask}
        return observed(metric.state, f"{where}.metric", read)

    def merge(self, a: State, b: State) -> State:
        """The metric's own."""
        return self.metric.merge(a, b)

    def result(self, state: State) -> float | Mapping[str, float]:
        """The metric's own."""
        return self.metric.result(state)


def _without_nan(tree: Any) -> Any:
    """A tree with 0 in place of NaN, which counts nothing in the weights of losses."""

    def without(x: Any) -> Any:
        if isinstance(x, Elements):
            weights = jnp.where(jnp.isnan(x.values), 0.0, x.weights)
            return Elements(without(x.values), weights, x.factor)
        return jnp.where(jnp.isnan(x), 0, x)

    return jax.tree.map(without, tree, is_leaf=lambda x: isinstance(x, Elements))
