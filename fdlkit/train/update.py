"""From a gradient to the next state: the optimizer, and what is around it."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import PartitionSpec

from fdlkit.train.frozen import moved
from fdlkit.train.loss_scale import DynamicLossScale, unscaled
from fdlkit.train.nonfinite import SKIPPED, count_skips, if_finite, no_skips
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
      finite: Whether loss and gradient were, [] bool; None: steps are not skipped.
      failed: Whether they were not, and the run is to end, [] bool.
      made: How many updates were made before this one, [] int32.
      left_out: How many steps since the last log point made none, [] int32, or 0.
      reported: What `update_reports` names, [] float32 each.
    """

    kept: dict[str, Any]
    updates: Any
    grads: Any
    grad_norm: jax.Array
    finite: jax.Array | None
    failed: jax.Array
    made: jax.Array
    left_out: jax.Array | int
    reported: tuple[jax.Array, ...]

    def counted(self, number: jax.Array) -> jax.Array:
        """A number of this step as a sum takes it up: 0 of a step that is skipped."""
        return number if self.finite is None else jnp.where(self.finite, number, 0.0)


def begin_updates(rules: UpdateRules, params: Any) -> dict[str, Any]:
    """What the rules keep in the state before step 1: fields of `TrainState`."""
    return {
        "ema": None if rules.ema is None else rules.ema.begin(params),
        "loss_scale": None if rules.loss_scale is None else rules.loss_scale.begin(),
        "skipped": no_skips() if may_skip(rules) else None,
    }


def lay_out_updates(state: TrainState, params: Any) -> dict[str, Any]:
    """What of these fields of the state is laid out like the parameters, and what not.

    Args:
      state: The state, abstract or not.
      params: A `PartitionSpec` for each parameter.
    """
    return {
        "ema": None if state.ema is None else params,
        "loss_scale": None if state.loss_scale is None else PartitionSpec(),
        "skipped": None if state.skipped is None else PartitionSpec(),
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
    scale, skips, failed, made = state.loss_scale, state.skipped, ~finite, state.step
    if rules.loss_scale is not None:
        scale = rules.loss_scale.next(scale, finite)
    if may_skip(rules):
        skips = count_skips(skips, finite, new_window=new_window)
        failed &= ~_may_go_on(rules, state)
        made = state.step - state.skipped[2]
    if rules.ema is not None:
        kept["ema"] = rules.ema.next(state.ema, params, made + 1)
    if may_skip(rules):
        kept = if_finite(finite, kept, {name: getattr(state, name) for name in kept})
    reported = [
        *([] if factor is None else [factor]),
        *([skips[2].astype(jnp.float32)] if may_skip(rules) else []),
    ]
    return Updated(
        kept=kept | {"loss_scale": scale, "skipped": skips},
        updates=updates,
        grads=grads,
        grad_norm=grad_norm,
        finite=finite if may_skip(rules) else None,
        failed=failed,
        made=made,
        left_out=skips[0] if may_skip(rules) else 0,
        reported=tuple(reported),
    )


def _may_go_on(rules: UpdateRules, state: TrainState) -> jax.Array:
    """Whether a run may go on after a step that was not finite, [] bool."""
    may = jnp.bool_(False)
    if rules.skip_nonfinite is not None:
        may |= state.skipped[1] < rules.skip_nonfinite.most_in_a_row
    if rules.loss_scale is not None:
        may |= rules.loss_scale.can_shrink(state.loss_scale)
    return may


def remarks(state: TrainState) -> list[str]:
    """What is to be said at the end of a run of its updates; waits for the devices."""
    if state.skipped is None:
        return []
    count = int(np.asarray(state.skipped)[SKIPPED.index("in_all")])
    if not count:
        return []
    return [
        f"{count} of {int(np.asarray(state.step))} steps made no update: their loss or "
        "gradient was not finite"
    ]
