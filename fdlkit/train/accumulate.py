"""Gradient accumulation: a global batch in parts, one after another, in one step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp


def cut_rows(batch: Any, parts: int) -> Any:
    """A batch as microbatches: `[batch, ...]` as `[parts, batch / parts, ...]`.

    Microbatch i has the rows i, i + parts, i + 2 * parts and so on. So each device
    cuts its own rows, which lie together in a batch, and none is moved; and what is
    in a microbatch does not depend on the mesh.

    Args:
      batch: A tree of arrays.
      parts: How many; it divides the rows of one device.
    """

    def cut(rows: jax.Array) -> jax.Array:
        stacked = rows.reshape(rows.shape[0] // parts, parts, *rows.shape[1:])
        names = (None, "batch", *[None] * (rows.ndim - 1))
        return nn.with_logical_constraint(jnp.swapaxes(stacked, 0, 1), names)

    return jax.tree.map(cut, batch)


def sum_over(
    function: Callable[[Any, Any, jax.Array], tuple[Any, Any, Any]],
    carried: Any,
    microbatches: Any,
    *,
    like: Any,
) -> tuple[Any, Any, Any]:
    """Runs a function on one microbatch after another and adds up what it returns.

    Args:
      function: `(carried, microbatch, number) -> (terms, carried, kept)`.
      carried: What the first microbatch is given; the next one what this one returns.
      microbatches: From `cut_rows`.
      like: Arrays, or abstract ones, of the types and shapes of the terms.

    Returns:
      The sums of the terms in their types, added up in float32 where those are
      narrower; what the last one carries; what each keeps, `[parts, ...]`.
    """

    def zeros(term: Any) -> jax.Array:
        return jnp.zeros(term.shape, sum_type(term.dtype))

    def add(sum_: jax.Array, term: jax.Array) -> jax.Array:
        return sum_ + term.astype(sum_.dtype)

    def one(carry: Any, numbered: Any) -> Any:
        sums, carried = carry
        terms, carried, kept = function(carried, *numbered)
        return (jax.tree.map(add, sums, terms), carried), kept

    parts = jax.tree.leaves(microbatches)[0].shape[0]
    numbered = (microbatches, jnp.arange(parts))
    (sums, carried), kept = jax.lax.scan(
        one, (jax.tree.map(zeros, like), carried), numbered
    )
    sums = jax.tree.map(lambda sum_, term: sum_.astype(term.dtype), sums, like)
    return sums, carried, kept


def sum_type(dtype: Any) -> Any:
    """The type that numbers of a type are added up in: float32 for narrower ones."""
    if jnp.issubdtype(dtype, jnp.floating):
        return jnp.promote_types(dtype, jnp.float32)
    return dtype
