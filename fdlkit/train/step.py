"""One training step and one evaluation step, as pure functions to be jitted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax

from fdlkit.keys import get_key
from fdlkit.train.losses import Loss, weights_of
from fdlkit.train.metrics import Metric
from fdlkit.train.models import Model
from fdlkit.train.state import TrainState

Batch = Mapping[str, Any]
Schedule = Callable[[jax.Array], jax.Array]

# What `TrainState.window` sums up, and what a step reports. A vector each: one
# more scalar in a step's arguments costs more than all of this arithmetic.
WINDOW = ("steps", "loss", "grad_norm", "elements", "first_nonfinite")
REPORT = (*WINDOW, "learning_rate", "param_norm", "stop_votes")


def logged(learning_rate: Schedule | float | None) -> tuple[str, ...]:
    """The entries of a report that are shown to people, in their order."""
    rate = () if learning_rate is None else ("learning_rate",)
    return ("loss", "grad_norm", *rate, "param_norm")


def model_inputs(inputs: Mapping[str, str], batch: Batch) -> dict[str, Any]:
    """The model's arguments, taken from the batch by their key paths."""
    return {
        name: get_key({"batch": batch}, key, wanted_by=f"inputs.{name}")
        for name, key in inputs.items()
    }


def forward(
    model: Model,
    loss: Loss,
    inputs: Mapping[str, str],
    *,
    variables: Mapping[str, Any],
    batch: Batch,
    rngs: Mapping[str, jax.Array],
) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """The context of a step after the model and the loss ran.

    Returns:
      `batch`, `preds`, `losses` and `weights` (both `[batch, ...]`), and the
      model's other variable collections as they are now.
    """
    preds, model_state = model.apply(variables, model_inputs(inputs, batch), rngs)
    context = {"batch": batch, "preds": preds}
    values = loss(context)
    return context | {
        "losses": values,
        "weights": weights_of(values, batch),
    }, model_state


def make_init(
    model: Model, optimizer: optax.GradientTransformation, seed: int
) -> Callable[[Any], TrainState]:
    """The function from the model's inputs to the state before step 1.

    Its arrays are bare: the logical axis names are read from `model.init` itself.
    """

    def init(inputs: Any) -> TrainState:
        return initial_state(model.init(jax.random.key(seed), inputs), optimizer)

    return init


def initial_state(
    variables: Mapping[str, Any], optimizer: optax.GradientTransformation
) -> TrainState:
    """The state before step 1, from what a model's `init` makes."""
    bare = dict(nn.meta.unbox(variables))
    params = bare.pop("params", {})
    return TrainState(
        step=jnp.zeros((), jnp.int32),
        params=params,
        model_state=bare,
        opt_state=optimizer.init(params),
        window=jnp.zeros(len(WINDOW), jnp.float32),
    )


def make_train_step(
    model: Model,
    loss: Loss,
    optimizer: optax.GradientTransformation,
    *,
    inputs: Mapping[str, str],
    learning_rate: Schedule | float | None,
    log_every: int,
    num_train_steps: int,
    seed: int,
) -> Callable[..., tuple[TrainState, jax.Array]]:
    """The function `(state, batch, votes=None) -> (state, report)` of one update.

    `report` is `[len(REPORT)]` float32: means over the window that began after the
    last multiple of `log_every`, the number of steps in it, the sum of `elements`,
    which step of it (from 1) was the first with a loss or gradient that is not
    finite (0: none), what only a log point needs, else 0, and the largest of
    `votes`: each process's wish to stop, `[devices]` int32, so that all of them
    learn of it at the same step.
    """

    def train_step(
        state: TrainState, batch: Batch, votes: jax.Array | None = None
    ) -> tuple[TrainState, jax.Array]:
        rng = jax.random.fold_in(jax.random.key(seed), state.step)

        def objective(params: Any) -> tuple[jax.Array, Any]:
            context, model_state = forward(
                model,
                loss,
                inputs,
                variables={"params": params, **state.model_state},
                batch=batch,
                rngs={"dropout": rng},
            )
            weights = context["weights"]
            elements = jnp.sum(weights)
            # A batch that is all padding has a loss of 0, not 0/0.
            mean = jnp.sum(context["losses"] * weights) / jnp.maximum(elements, 1.0)
            return mean, (elements, model_state)

        gradient = jax.value_and_grad(objective, has_aux=True)
        (mean_loss, (elements, model_state)), grads = gradient(state.params)
        updates, opt_state = optimizer.update(grads, state.opt_state, state.params)
        params = optax.apply_updates(state.params, updates)

        grad_norm = optax.tree.norm(grads)
        window = jnp.where(state.step % log_every == 0, 0.0, state.window)
        steps, loss_sum, norm_sum, elements_sum, first_nonfinite = window
        steps += 1
        finite = jnp.isfinite(mean_loss) & jnp.isfinite(grad_norm)
        newly = ~finite & (first_nonfinite == 0)
        window = jnp.stack(
            [
                steps,
                loss_sum + mean_loss,
                norm_sum + grad_norm,
                elements_sum + elements,
                jnp.where(newly, steps, first_nonfinite),
            ]
        )
        rate = learning_rate(state.step) if callable(learning_rate) else learning_rate
        step = state.step + 1
        param_norm = jax.lax.cond(
            (step % log_every == 0) | (step == num_train_steps),
            lambda: optax.tree.norm(params).astype(jnp.float32),
            lambda: jnp.float32(0),
        )
        report = jnp.stack(
            [
                window[0],
                window[1] / steps,
                window[2] / steps,
                window[3],
                window[4],
                jnp.asarray(0 if rate is None else rate, jnp.float32),
                param_norm,
                jnp.float32(0) if votes is None else jnp.max(votes),
            ]
        )
        state = TrainState(
            step=step,
            params=params,
            model_state=model_state,
            opt_state=opt_state,
            window=window,
        )
        return state, report

    return train_step


def make_eval_step(
    model: Model,
    loss: Loss,
    *,
    inputs: Mapping[str, str],
    metrics: Mapping[str, Metric],
) -> Callable[[Any, Any, Batch], jax.Array]:
    """The function `(params, model_state, batch) -> [len(metrics), 2]` float32.

    A row a metric: this batch's share of its numerator and of its denominator.
    """

    def eval_step(params: Any, model_state: Any, batch: Batch) -> jax.Array:
        variables = {"params": params, **model_state}
        context, _ = forward(
            model, loss, inputs, variables=variables, batch=batch, rngs={}
        )
        return jnp.stack([jnp.stack(metric(context)) for metric in metrics.values()])

    return eval_step
