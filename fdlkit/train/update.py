"""From a gradient to the next state: the optimizer, and what is around it."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from fdlkit.train.frozen import moved
from fdlkit.train.loss_scale import DynamicLossScale, unscaled
from fdlkit.train.nonfinite import count_skips, if_finite, no_skips
from fdlkit.train.state import TrainState


@dataclasses.dataclass(frozen=True, kw_only=True)
class UpdateRules:
    """How an update is made, beside the optimizer; the fields are `Trainer`'s.

    Attributes:
      microbatches: In how many parts a batch is differentiated.
      ema: An `Ema`, or None.
      loss_scale: A `LossScale` or a `DynamicLossScale`, or None.
      skip_nonfinite: A `SkipNonfinite`, or None.
    """

    microbatches: int = 1
    ema: Any = None
    loss_scale: Any = None
    skip_nonfinite: Any = None


def may_skip(rules: UpdateRules) -> bool:
    """Whether a step may make no update."""
    is_dynamic = isinstance(rules.loss_scale, DynamicLossScale)
    return is_dynamic or rules.skip_nonfinite is not None


def update_reports(rules: UpdateRules) -> tuple[str, ...]:
    """What a step reports of its rules: nothing that is not set."""
    return (
        *(("loss_scale",) if rules.loss_scale is not None else ()),
        *(("skipped",) if may_skip(rules) else ()),
    )


class Updated(NamedTuple):
    """What an update made.

    Attributes:
      kept: Fields of the next `TrainState`.
      updates: What was added to the parameters.
      grads: The gradient of the loss.
      grad_norm: Its norm over all parameters, [] float32.
      finite: Whether loss and gradient were, [] bool.
      failed: Whether they were not, and the run is to end, [] bool.
      reported: What `update_reports` names, [] float32 each.
    """

    kept: dict[str, Any]
    updates: Any
    grads: Any
    grad_norm: jax.Array
    finite: jax.Array
    failed: jax.Array
    reported: tuple[jax.Array, ...]


def begin_updates(rules: UpdateRules, params: Any) -> dict[str, Any]:
    """What the rules keep in the state before step 1: fields of `TrainState`."""
    return {
        "ema": None if rules.ema is None else rules.ema.begin(params),
        "loss_scale": None if rules.loss_scale is None else rules.loss_scale.begin(),
        "skipped": no_skips() if may_skip(rules) else None,
    }


def loss_factor(rules: UpdateRules, state: TrainState) -> jax.Array | None:
    """What the loss is multiplied by before it is differentiated; None: nothing."""
    if rules.loss_scale is None:
        return None
    return rules.loss_scale.factor(state.loss_scale)


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
    """One update of the state.

    Args:
      optimizer: Makes updates of gradients.
      rules: What else there is to do.
      state: The state before the update.
      loss: What was minimized, [] float32.
      grads: The gradient of `loss_factor` times it.
      model_state: The model's other variables after the step.
      new_window: Whether this is the first step after a log point, [] bool.
    """
    factor = loss_factor(rules, state)
    if factor is not None:
        grads = unscaled(grads, factor)
    updates, opt_state = optimizer.update(grads, state.opt_state, state.params)
    params = moved(state.params, updates, state.opt_state)
    grad_norm = optax.tree.norm(grads)
    finite = jnp.isfinite(loss) & jnp.isfinite(grad_norm)
    kept = {"params": params, "opt_state": opt_state, "model_state": model_state}
    skipped, failed = state.skipped, ~finite
    if may_skip(rules):
        kept = if_finite(finite, kept, {name: getattr(state, name) for name in kept})
        skipped = count_skips(state.skipped, finite, new_window=new_window)
        failed &= ~_may_go_on(rules, state.loss_scale, in_a_row=skipped[1])
    ema, scale = state.ema, state.loss_scale
    if rules.ema is not None:
        made = state.step + 1 - (skipped[2] if may_skip(rules) else 0)
        ema = rules.ema.next(ema, kept["params"], made)
        if may_skip(rules):
            ema = if_finite(finite, ema, state.ema)
    if rules.loss_scale is not None:
        scale = rules.loss_scale.next(scale, finite)
    reported = {
        "loss_scale": factor,
        "skipped": skipped[2] if may_skip(rules) else None,
    }
    return Updated(
        kept=kept | {"ema": ema, "loss_scale": scale, "skipped": skipped},
        updates=updates,
        grads=grads,
        grad_norm=grad_norm,
        finite=finite,
        failed=failed,
        reported=tuple(reported),
    )


def _may_go_on(
    rules: UpdateRules, scale: jax.Array | None, *, in_a_row: jax.Array
) -> jax.Array:
    """Whether a step that was not finite need not end the run, [] bool."""
    may = jnp.bool_(False)
    if rules.skip_nonfinite is not None:
        may |= in_a_row <= rules.skip_nonfinite.most_in_a_row
    if rules.loss_scale is not None:
        may |= rules.loss_scale.can_shrink(scale)
    return may
