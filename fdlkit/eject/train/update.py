"""From a gradient to the next state: the optimizer alone."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from fdlkit.train.state import TrainState
from fdlkit.train.update import UpdateRules


class Updated(NamedTuple):
    """What an update made.

    Attributes:
      kept: Fields of the next `TrainState`.
      updates: What was added to the parameters.
      grads: The gradient of the loss.
      grad_norm: Its norm over all parameters, [] float32.
      failed: Whether loss or gradient were not finite, [] bool.
      made: How many updates were made before this one, [] int32.
      left_out: How many steps made none: 0.
      reported: What a step reports beside what every step does: nothing.
    """

    kept: dict[str, Any]
    updates: Any
    grads: Any
    grad_norm: jax.Array
    failed: jax.Array
    made: jax.Array
    left_out: int = 0
    reported: tuple[jax.Array, ...] = ()

    def counted(self, number: jax.Array) -> jax.Array:
        """A number of this step as a sum takes it up."""
        return number


def begin_updates(rules: UpdateRules, params: Any) -> dict[str, Any]:
    """Nothing more is kept."""
    del rules, params
    return {}


def lay_out_updates(state: TrainState, params: Any) -> dict[str, Any]:
    """Nothing more is laid out."""
    del state, params
    return {}


def loss_factor(rules: UpdateRules, state: TrainState) -> jax.Array | None:
    """The loss is differentiated as it is."""
    del rules, state
    return None


def update_reports(rules: UpdateRules) -> tuple[str, ...]:
    """Nothing more is reported."""
    del rules
    return ()


def remarks(state: TrainState) -> list[str]:
    """Nothing is to be said at the end."""
    del state
    return []


def make_update(
    optimizer: optax.GradientTransformation,
    rules: UpdateRules,
    state: TrainState,
    *,
    loss: jax.Array,
    grads: Any,
    model_state: Any,
    new_window: jax.Array,
) -> Updated:
    """One update of the state, of the gradient of the loss."""
    del rules, new_window
    updates, opt_state = optimizer.update(grads, state.opt_state, state.params)
    params = optax.apply_updates(state.params, updates)
    grad_norm = optax.tree.norm(grads)
    return Updated(
        kept={"params": params, "opt_state": opt_state, "model_state": model_state},
        updates=updates,
        grads=grads,
        grad_norm=grad_norm,
        failed=~(jnp.isfinite(loss) & jnp.isfinite(grad_norm)),
        made=state.step,
    )
