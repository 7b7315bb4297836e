"""Metrics of classifiers: of labels, and of the scores that a model gives them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer, Real

from fdlkit.keys import Key
from fdlkit.train.masks import spread_mask
from fdlkit.train.metrics import Metric, Ratio, State


@dataclasses.dataclass(frozen=True, kw_only=True)
class TopK(Ratio):
    """The share of labels that are among the k classes with the highest scores.

    Of equal scores the first class has the higher rank, as in `argmax`. A label that
    has NaN for its score is never among them; another class's NaN is above it.

    Attributes:
      k: How many classes.
      logits: Key path of the scores, `[batch, ..., classes]`.
      labels: Key path of the right classes, `[batch, ...]` integers.
    """

    k: int = 5
    logits: Key = "preds"
    labels: Key = "batch.labels"

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ValueError(f"k={self.k}: it counts classes, so at least 1")

    def state(
        self,
        *,
        logits: Real[Array, "*b classes"],
        labels: Integer[Array, "*b"],
        mask: jax.Array | None,
    ) -> State:
        """Labels that are, and all labels."""
        return self.share(rank_of_label(logits, labels) < self.k, mask)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Accuracy(TopK):
    """The share of labels whose class has the highest score."""

    k: int = 1


def rank_of_label(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """How many classes are before the label when all are sorted by score.

    Args:
      logits: `[batch, ..., classes]`.
      labels: `[batch, ...]` integers in [0, classes).

    Returns:
      `[batch, ...]` int32; the number of classes where the label's score is NaN, or
      where there is no such class.
    """
    classes = logits.shape[-1]
    index = jnp.clip(labels, 0, classes - 1)[..., None]
    score = jnp.take_along_axis(logits, index, axis=-1)
    is_before = ~(logits <= score)  # so that NaN is before any number
    is_before |= (logits == score) & (jnp.arange(classes) < index)
    is_class = (labels >= 0) & (labels < classes)
    return jnp.where(is_class, jnp.sum(is_before, axis=-1, dtype=jnp.int32), classes)


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelCounts(Metric):
    """How many labels each class has; a label that is no class is not counted.

    Attributes:
      num_classes: How many classes there are.
      labels: Key path of the classes, `[batch, ...]` integers.
      names: The classes' names, in their order; empty: their numbers.
    """

    num_classes: int
    labels: Key = "batch.labels"
    names: Sequence[str] = ()

    def __post_init__(self) -> None:
        check_names(self.names, self.num_classes)

    def state(
        self, *, labels: Integer[Array, "*b"], mask: jax.Array | None
    ) -> Float[Array, " classes"]:
        """Weights of the labels of each class."""
        weights = spread_mask(mask, labels.shape, where=type(self).__name__)
        return count_cells([labels], weights, self.num_classes)

    def result(self, state: State) -> dict[str, float]:
        """The counts by name."""
        names = self.names or range(self.num_classes)
        return {str(n): float(c) for n, c in zip(names, state, strict=True)}


@dataclasses.dataclass(frozen=True, kw_only=True)
class ConfusionMatrix(Metric):
    """How many labels of each class were taken for which class.

    A label that is no class is not counted. `result` is flat, for a log; the matrix
    itself, `[labels, predictions]`, is the state.

    Attributes:
      num_classes: How many classes there are.
      logits: Key path of the scores, `[batch, ..., classes]`.
      labels: Key path of the right classes, `[batch, ...]` integers.
      names: The classes' names, in their order; empty: their numbers.
    """

    num_classes: int
    logits: Key = "preds"
    labels: Key = "batch.labels"
    names: Sequence[str] = ()

    def __post_init__(self) -> None:
        check_names(self.names, self.num_classes)

    def state(
        self,
        *,
        logits: Real[Array, "*b {self.num_classes}"],
        labels: Integer[Array, "*b"],
        mask: jax.Array | None,
    ) -> Float[Array, "classes classes"]:
        """Weights of the labels of each class that were taken for each."""
        weights = spread_mask(mask, labels.shape, where=type(self).__name__)
        predictions = jnp.argmax(logits, axis=-1)
        return count_cells([labels, predictions], weights, self.num_classes)

    def result(self, state: State) -> dict[str, float]:
        """`LABEL/PREDICTION` for each pair of classes."""
        names = [str(name) for name in self.names or range(self.num_classes)]
        return {
            f"{label}/{prediction}": float(state[i][j])
            for i, label in enumerate(names)
            for j, prediction in enumerate(names)
        }


def check_names(names: Sequence[str], num_classes: int) -> None:
    """Refuses names of which there are not as many as classes.

    Raises:
      ValueError: Saying how many there are of both.
    """
    if num_classes < 1:
        raise ValueError(f"num_classes={num_classes}: it counts classes, so at least 1")
    if names and len(names) != num_classes:
        raise ValueError(
            f"{len(names)} names for num_classes={num_classes}: each class has one, or "
            "none has"
        )


def count_cells(
    indices: Sequence[jax.Array], weights: jax.Array, size: int
) -> jax.Array:
    """Sums of weights by index, of `size` in each dim; others are left out.

    A batch's sums are exact up to 2**24 where weights are whole numbers.
    """
    is_inside = jnp.ones(weights.shape, bool)
    for index in indices:
        is_inside &= (index >= 0) & (index < size)
    where = tuple(jnp.where(is_inside, index, 0).reshape(-1) for index in indices)
    counted = jnp.where(is_inside, weights, 0.0).reshape(-1)
    return jnp.zeros((size,) * len(indices), jnp.float32).at[where].add(counted)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Auc(Metric):
    """The area under the ROC curve of a score for two classes, exact.

    It is the chance that the score of a label 1 is above that of a label 0, ties
    counted half (Mann & Whitney, 1947). No histogram: the state is all scores, 12 bytes
    each, and the host sorts them once.

    Attributes:
      scores: Key path of the scores, `[batch, ...]`; any increasing function of them
        has the same area.
      labels: Key path of the labels, of the same shape: 0 is one class, anything else
        the other.
    """

    scores: Key = "preds"
    labels: Key = "batch.labels"

    def state(
        self,
        *,
        scores: Real[Array, "*b"],
        labels: Real[Array, "*b"],
        mask: jax.Array | None,
    ) -> State:
        """Scores, labels and weights, `[elements]` each."""
        weights = spread_mask(mask, scores.shape, where=type(self).__name__)
        return {
            "scores": scores.astype(jnp.float32).reshape(-1),
            "labels": (labels != 0).astype(jnp.float32).reshape(-1),
            "weights": weights.reshape(-1),
        }

    def merge(self, a: State, b: State) -> State:
        """Those that count, one after the other."""
        kept = [_counting(state) for state in (a, b)]
        return jax.tree.map(lambda x, y: np.concatenate([x, y]), *kept)

    def result(self, state: State) -> float:
        """The area, in [0, 1]; NaN where only one class is, or a score is NaN."""
        state = _counting(state)
        values, rank = np.unique(state["scores"], return_inverse=True)
        weights = state["weights"].astype(np.float64)
        ones = np.bincount(rank, weights * state["labels"], len(values))
        zeros = np.bincount(rank, weights, len(values)) - ones
        pairs = ones.sum() * zeros.sum()
        if not pairs or np.isnan(values).any():
            return math.nan
        below = np.cumsum(zeros) - zeros
        return float(np.sum(ones * (below + zeros / 2)) / pairs)


def _counting(state: State) -> State:
    """A state of `Auc` without what counts nothing."""
    counts = np.asarray(state["weights"]) != 0
    return {name: np.asarray(array)[counts] for name, array in state.items()}
