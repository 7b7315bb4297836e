"""Masks: how much each element of a batch counts."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp


def spread_mask(mask: Any | None, shape: tuple[int, ...], *, where: str) -> jax.Array:
    """The mask of some first dims, or 1 where there is none, float32 of `shape`."""
    del where
    if mask is None:
        return jnp.ones(shape, jnp.float32)
    weights = jnp.asarray(mask, jnp.float32)
    extra = len(shape) - weights.ndim
    return jnp.broadcast_to(weights.reshape(weights.shape + (1,) * extra), shape)
