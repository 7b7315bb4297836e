"""One training step and one evaluation step, as pure functions to be jitted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax

from fdlkit.train.accumulate import batch_gradient
from fdlkit.train.context import forward
from fdlkit.train.frozen import held
from fdlkit.train.losses import Context, Loss, total_loss
from fdlkit.train.metrics import Metric
from fdlkit.train.models import Model, Place
from fdlkit.train.state import TrainState
from fdlkit.train.states import Packed, compute_states, only_if, pack_states
from fdlkit.train.update import UpdateRules, begin_updates, loss_factor, make_update

Batch = Mapping[str, Any]
Schedule = Callable[[jax.Array], jax.Array]
# What a step gives at log points beside its report, from its whole context.
Measure = Callable[[Context], Any]

# What `TrainState.window` sums up in every run. A vector: one more scalar in a step's
# arguments costs more than all of this arithmetic.
WINDOW = ("steps", "loss", "grad_norm", "elements", "first_nonfinite")

# The schedule that follows the optimizer's own count of its updates.
RATE = "learning_rate"


def window_names(losses: Collection[str]) -> tuple[str, ...]:
    """What `TrainState.window` sums up: `WINDOW`, and losses where they are several."""
    several = losses if len(losses) > 1 else ()
    return (*WINDOW, *(f"losses/{name}" for name in several))


def report_names(
    losses: Collection[str], schedules: Collection[str]
) -> tuple[str, ...]:
    """What a step reports, in its order, before `update_reports`."""
    return (*window_names(losses), "param_norm", "stop_votes", *schedules)


def logged(losses: Collection[str], schedules: Collection[str]) -> tuple[str, ...]:
    """The entries of a report that are shown to people, in their order."""
    several = window_names(losses)[len(WINDOW) :]
    return ("loss", *several, "grad_norm", *schedules, "param_norm")


def initial_state(
    variables: Mapping[str, Any],
    optimizer: optax.GradientTransformation,
    losses: Collection[str],
    rules: UpdateRules,
) -> TrainState:
    """The state before step 1, from what a model's `init` makes.

    Args:
      variables: Boxed or bare.
      optimizer: Makes its own state.
      losses: The names of the losses.
      rules: How updates are made, beside the optimizer.
    """
    bare = dict(nn.meta.unbox(variables))
    params = bare.pop("params", {})
    return TrainState(
        step=jnp.zeros((), jnp.int32),
        params=params,
        model_state=bare,
        opt_state=optimizer.init(params),
        window=jnp.zeros(len(window_names(losses)), jnp.float32),
        **begin_updates(rules, params),
    )


def make_train_step(
    model: Model,
    losses: Mapping[str, Loss],
    optimizer: optax.GradientTransformation,
    *,
    inputs: Mapping[str, str],
    schedules: Mapping[str, Schedule | float],
    log_every: int,
    num_train_steps: int,
    seed: int,
    rules: UpdateRules,
    capture: Sequence[Place] = (),
    measure: Measure | None = None,
    measured_parts: Collection[str] = (),
) -> Callable[..., tuple[TrainState, jax.Array, Any]]:
    """The function `(state, batch, votes=None) -> (state, report, measured)`.

    `report` is `[len(report_names)]` float32: means over the window that began after
    the last multiple of `log_every`, the number of steps in it, the sum of `elements`
    (the weights of the first loss), which step of it (from 1) was the first with a loss
    or gradient that is not finite (0: none), what only a log point needs, else 0, and
    the largest of `votes`: each process's wish to stop, `[devices]` int32, so that all
    of them learn of it at the same step. Of `schedules` it has the values that this
    update was made with.

    Args:
      model: The model.
      losses: By name; what is minimized is the sum of weight times mean.
      optimizer: What makes an update of a gradient.
      inputs: The model's arguments by name, as key paths.
      schedules: Functions of the step (or numbers) to be reported, by name.
      log_every: Steps between log points.
      num_train_steps: The last step, which is a log point too.
      seed: Of dropout.
      rules: How an update is made, beside the optimizer.
      capture: The intermediates that a loss or `measure` reads.
      measure: Makes `measured` of the whole context at log points, and all zeros, for
        nothing, between them; None: that is None.
      measured_parts: What it reads of what the model gives: `preds`, `interms`.
    """

    def train_step(
        state: TrainState, batch: Batch, votes: jax.Array | None = None
    ) -> tuple[TrainState, jax.Array, Any]:
        rng = jax.random.fold_in(jax.random.key(seed), state.step)
        factor = loss_factor(rules, state)

        def objective(
            params: Any, model_state: Any, rows: Batch, key: jax.Array, counts: Any
        ) -> tuple[jax.Array, Any]:
            context, model_state = forward(
                model,
                losses,
                inputs,
                variables={"params": held(params, state.opt_state), **model_state},
                batch=rows,
                step=state.step,
                rngs={"dropout": key},
                capture=capture,
            )
            loss = total_loss(context["losses"], counts)
            if factor is not None:
                loss = loss * factor
            return loss, (context, model_state)

        loss, grads, context, model_state = batch_gradient(
            objective,
            state.params,
            state.model_state,
            batch,
            rng,
            microbatches=rules.microbatches,
            losses=losses,
            keep=measured_parts,
        )
        if factor is not None:
            loss = loss / factor
        new_window = state.step % log_every == 0
        done = make_update(
            optimizer,
            rules,
            state,
            loss=loss,
            grads=grads,
            model_state=model_state,
            new_window=new_window,
        )
        params = done.kept["params"]
        step = state.step + 1

        window = jnp.where(new_window, 0.0, state.window)
        steps = window[0] + 1
        newly = done.failed & (window[WINDOW.index("first_nonfinite")] == 0)
        # JAX has put them into the order of their names.
        first, *others = found = [context["losses"][name] for name in losses]
        means = [one.mean() for one in found] if others else []
        window += jnp.stack(
            [
                jnp.float32(1),
                done.counted(loss),
                done.counted(done.grad_norm),
                jnp.sum(first.weights),
                jnp.where(newly, steps, 0.0),
                *map(done.counted, means),
            ]
        )
        at_log_point: jax.Array | bool = True
        if log_every > 1:
            at_log_point = (step % log_every == 0) | (step == num_train_steps)
        more = {"params": state.params, "step": state.step}
        more |= {"grads": done.grads, "updates": done.updates}
        # One branch for all of it: each has its cost also where it is not taken.
        param_norm, measured = only_if(
            at_log_point,
            lambda: (
                optax.tree.norm(params).astype(jnp.float32),
                None if measure is None else measure(context | more),
            ),
        )
        counted = steps - done.left_out
        report = jnp.concatenate(
            [
                window[:1],
                window[1:3] / counted,
                window[3:5],
                window[5:] / counted,
                jnp.stack(
                    [
                        param_norm,
                        jnp.float32(0) if votes is None else jnp.max(votes),
                        *(
                            _value(rate, done.made if name == RATE else state.step)
                            for name, rate in schedules.items()
                        ),
                        *done.reported,
                    ]
                ),
            ]
        )
        state = TrainState(step=step, window=window, **done.kept)
        return state, report, measured

    return train_step


def _value(rate: Schedule | float, step: jax.Array) -> jax.Array:
    """What a schedule, or a number, says of a step, [] float32."""
    return jnp.asarray(rate(step) if callable(rate) else rate, jnp.float32)


def measuring(metrics: Mapping[str, Metric]) -> Measure | None:
    """Metrics of a step's own batch.

    Args:
      metrics: By name; without any there is nothing to measure.

    Returns:
      What gives the metrics' states, packed.
    """
    if not metrics:
        return None

    def measure(context: Context) -> Packed:
        return pack_states(compute_states(metrics, context, where="train_metrics"))

    return measure


def make_eval_step(
    model: Model,
    losses: Mapping[str, Loss],
    *,
    inputs: Mapping[str, str],
    metrics: Mapping[str, Metric],
    capture: Sequence[Place] = (),
    where: str = "metrics",
) -> Callable[..., Packed]:
    """The function `(params, model_state, batch, step) -> Packed`.

    What is packed are the metrics' states of this batch, by name. `step` is the number
    of updates that were made, [] int32, for losses whose weight is a schedule. `where`
    is the config path of the metrics, for messages.
    """

    def eval_step(
        params: Any, model_state: Any, batch: Batch, step: jax.Array
    ) -> Packed:
        context, _ = forward(
            model,
            losses,
            inputs,
            variables={"params": params, **model_state},
            batch=batch,
            step=step,
            rngs={},
            capture=capture,
        )
        return pack_states(compute_states(metrics, context, where=where))

    return eval_step
