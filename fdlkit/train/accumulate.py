"""The gradient of a batch, at once or in microbatches within the one step."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

# `(params, model_state, batch, rng, counts) -> (what is minimized, (the step's context,
# model_state))`; each loss is divided by its count, or by the batch's own for None.
Objective = Callable[..., tuple[jax.Array, tuple[dict[str, Any], Any]]]


def batch_gradient(
    objective: Objective,
    params: Any,
    model_state: Any,
    batch: Mapping[str, Any],
    rng: jax.Array,
    *,
    microbatches: int,
    losses: Collection[str],
    keep: Collection[str],
) -> tuple[jax.Array, Any, dict[str, Any], Any]:
    """The gradient of a batch, in however many microbatches it is computed.

    A loss is a mean over all elements of the batch that count, whatever microbatch they
    are in: they are counted before anything is differentiated. (A mask says which they
    are, mostly one of the batch; only where it is made of predictions is the model run
    for it.) So gradients are those of the whole batch but for the rounding of float32,
    and for what cannot be the same: each microbatch has dropout of its own, and a model
    that keeps statistics of batches sees the microbatches, one after another.

    Args:
      objective: What is to be minimized, of a batch or a microbatch.
      params: With respect to what.
      model_state: The model's other variables.
      batch: The batch; `microbatches` divides the rows of each device.
      rng: The step's; a microbatch has it folded with its number.
      microbatches: In how many parts; 1: as it is.
      losses: The names of the losses.
      keep: What somebody reads of the context beside `batch` and `losses`, `preds` for
        one. It takes the memory that microbatches are to save.

    Returns:
      What is minimized, its gradient, the context of the whole batch, and the model's
      other variables.
    """
    gradient = jax.value_and_grad(objective, has_aux=True)
    if microbatches == 1:
        (value, (context, model_state)), grads = gradient(
            params, model_state, batch, rng, None
        )
        return value, grads, context, model_state

    def count(carried: Any, part: Any, number: jax.Array) -> Any:
        key = jax.random.fold_in(rng, number)
        _, (context, carried) = objective(params, carried, part, key, None)
        weights = {name: jnp.sum(e.weights) for name, e in context["losses"].items()}
        return weights, carried, None

    def differentiate(carried: Any, part: Any, number: jax.Array) -> Any:
        key = jax.random.fold_in(rng, number)
        (value, (context, carried)), grads = gradient(
            params, carried, part, key, counts
        )
        kept = {name: context[name] for name in ("losses", *keep)}
        return (value, grads), carried, kept

    parts = cut_rows(batch, microbatches)
    number = jax.ShapeDtypeStruct((), jnp.float32)
    counts, _, _ = sum_over(
        count, model_state, parts, like=dict.fromkeys(losses, number)
    )
    (value, grads), model_state, kept = sum_over(
        differentiate, model_state, parts, like=(number, params)
    )
    rows = jax.tree.leaves(parts)[0].shape[1]
    context = join_rows(kept, rows) | {"batch": batch}
    for name, elements in context["losses"].items():
        # A factor follows the step, and is the same in each.
        context["losses"][name] = elements._replace(factor=elements.factor[0])
    return value, grads, context, model_state


def cut_rows(batch: Any, parts: int) -> Any:
    """A batch as microbatches: `[batch, ...]` as `[parts, batch / parts, ...]`.

    Microbatch i has the rows i, i + parts, i + 2 * parts and so on. So each device
    cuts its own rows, which lie together in a batch, and none is moved; and what is
    in a microbatch does not depend on the mesh.
    """

    def cut(rows: jax.Array) -> jax.Array:
        stacked = rows.reshape(rows.shape[0] // parts, parts, *rows.shape[1:])
        names = (None, "batch", *[None] * (rows.ndim - 1))
        return nn.with_logical_constraint(jnp.swapaxes(stacked, 0, 1), names)

    return jax.tree.map(cut, batch)


def join_rows(stacked: Any, rows: int) -> Any:
    """The other way round: `[parts, rows, ...]` as `[parts * rows, ...]`.

    What has no rows, `[parts, ...]`, stays as it is.
    """

    def join(array: jax.Array) -> jax.Array:
        if array.shape[1:2] != (rows,):
            return array
        return jnp.swapaxes(array, 0, 1).reshape(-1, *array.shape[2:])

    return jax.tree.map(join, stacked)


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

    def add(total: jax.Array, term: jax.Array) -> jax.Array:
        return total + term.astype(total.dtype)

    def one(carry: Any, numbered: Any) -> Any:
        totals, carried = carry
        terms, carried, kept = function(carried, *numbered)
        return (jax.tree.map(add, totals, terms), carried), kept

    parts = jax.tree.leaves(microbatches)[0].shape[0]
    (totals, carried), kept = jax.lax.scan(
        one,
        (jax.tree.map(zeros, like), carried),
        (microbatches, jnp.arange(parts)),
    )
    totals = jax.tree.map(lambda total, term: total.astype(term.dtype), totals, like)
    return totals, carried, kept


def sum_type(dtype: Any) -> Any:
    """The type that numbers of a type are added up in: float32 for narrower ones."""
    if jnp.issubdtype(dtype, jnp.floating):
        return jnp.promote_types(dtype, jnp.float32)
    return dtype
