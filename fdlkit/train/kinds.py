"""What losses and metrics of a person's own may give, said where they give another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from fdlkit.errors import UserError
from fdlkit.train.losses import Loss

# What the state of a metric is made of.
STATE_KINDS = (jnp.bool_, jnp.integer, jnp.floating)
_STATE = "it is to be made of float32, int32 and bool"


def held_to_kinds(metric: Callable[..., Any]) -> Callable[..., Any]:
    """A metric, for `compute_states`, whose state is looked at.

    Called it raises a `UserError` where something in the state is no array of numbers,
    or an integer that no array of a step can hold.
    """

    def call(context: Any, *, where: str) -> Any:
        state = metric(context, where=where)
        for leaf in jax.tree.leaves(state):
            refuse_other_leaf(leaf, where)
        return state

    return call


def refuse_other_leaf(leaf: Any, where: str) -> None:
    """Refuses what is in the state of a metric and can be none of it.

    Args:
      leaf: A leaf of the state.
      where: The config path of the metric.

    Raises:
      UserError: Naming the metric, and what there is.
    """
    if not isinstance(leaf, jax.Array | np.ndarray | np.generic | bool | int | float):
        raise UserError(
            f"the state of {where} has something of type {type(leaf).__name__}, "
            "which is no array",
            _STATE,
        )
    if isinstance(leaf, int | np.ndarray | np.generic):
        _refuse_too_large(np.asarray(leaf), where)
    dtype = jnp.result_type(leaf)
    if not any(jnp.issubdtype(dtype, kind) for kind in STATE_KINDS):
        raise UserError(f"the state of {where} has an array of {dtype}", _STATE)


def _refuse_too_large(array: np.ndarray, where: str) -> None:
    """JAX would cut off the upper bits of such an integer, and say nothing."""
    if array.dtype.kind not in "iuO" or not array.size:
        return
    least = -(2**31)
    most = 2**32 if array.dtype.kind == "u" else 2**31
    if array.min() < least or array.max() >= most:
        raise UserError(
            f"the state of {where} has integers past 32 bits",
            "count per row, or in float32, and let `merge` add up, which has 64 bits",
        )


def refuse_other_values(loss: Loss, error: AttributeError, where: str) -> None:
    """Refuses a loss whose values are no array, which has no `astype`.

    Args:
      loss: That raised.
      error: What it raised, whatever that is of.
      where: The config path of the loss.

    Raises:
      UserError: Saying what `values` gave.
    """
    if error.name != "astype" or isinstance(error.obj, jax.Array | Loss):
        return
    raise UserError(
        f"{where}: `values` of {type(loss).__name__} gave something of type "
        f"{type(error.obj).__name__}, which is no array",
        "it gives the loss of each row or element, [batch, ...]; the mean is the "
        "trainer's",
    ) from None
