"""Masks: how much each element of a batch counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp

from fdlkit.errors import UserError

_NO_MEAN = "elements are [batch, ...]: no sum or mean is taken over the rows before"


class MaskError(UserError):
    """A mask of other dims than what it is for.

    Attributes:
      shapes: Of the mask, and of the elements.
    """

    def __init__(self, where: str, mask: tuple[int, ...], elements: tuple[int, ...]):
        self.shapes = (mask, elements)
        of_rows = elements[:1] == mask[:1]
        super().__init__(
            f"{where}: a mask {list(mask)} does not fit elements {list(elements)}",
            *([] if of_rows else [_NO_MEAN]),
            "a mask has the shape of the elements, or their first dims",
            f"set {where}.mask to the key path of one that has; None is batch.mask, "
            "where a batch has one",
        )


def batch_mask(context: Mapping[str, Any]) -> Any | None:
    """The `mask` of a step's batch, where it has one.

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
      MaskError: The mask has other dims.
    """
    if mask is None:
        return jnp.ones(shape, jnp.float32)
    weights = jnp.asarray(mask, jnp.float32)
    extra = len(shape) - weights.ndim
    fits = extra >= 0 and all(
        have in (want, 1) for have, want in zip(weights.shape, shape, strict=False)
    )
    if not fits:
        raise MaskError(where, tuple(weights.shape), shape)
    return jnp.broadcast_to(weights.reshape(weights.shape + (1,) * extra), shape)


def weighted(values: jax.Array, weights: jax.Array) -> jax.Array:
    """Values times weights; what counts nothing is 0, whatever its value is."""
    return jnp.where(weights != 0, values * weights, 0.0)
