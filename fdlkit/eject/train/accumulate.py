"""The gradient of a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax


def batch_gradient(
    objective: Callable[..., Any],
    params: Any,
    model_state: Any,
    batch: Any,
    rng: jax.Array,
    **how: Any,
) -> tuple[jax.Array, Any, dict[str, Any], Any]:
    """What is minimized, its gradient, the context, and the model's other variables."""
    del how  # at once, in one part
    (value, (context, model_state)), grads = jax.value_and_grad(
        objective, has_aux=True
    )(params, model_state, batch, rng, None)
    return value, grads, context, model_state
