"""What a run refuses of its losses, metrics and schedules, and says of their errors."""

from __future__ import annotations

import contextlib
import functools
import math
import os
import traceback
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from fdlkit.errors import RunFailedError, UserError
from fdlkit.key_guesses import names_below
from fdlkit.keys import get_key, keys_of
from fdlkit.train.context import (
    dead_keys,
    loss_path,
    no_intermediates,
    step_spec,
    wanted_interms,
)
from fdlkit.train.kinds import held_to_kinds, refuse_other_values
from fdlkit.train.losses import Context, Loss
from fdlkit.train.masks import MaskError
from fdlkit.train.metrics import Metric
from fdlkit.train.result_names import LoggedNameError
from fdlkit.train.states import compute_states, merge_states, results


def refuse_other_parts(
    losses: Mapping[str, Loss],
    metrics: Mapping[str, Metric],
    train_metrics: Mapping[str, Metric],
) -> None:
    """Refuses losses and metrics that are none, and losses of no weight.

    Raises:
      UserError: Naming the place, and what it is to be.
    """
    if not losses:
        raise UserError(
            "loss={}: there is nothing to minimize", "name one loss or more"
        )
    named = {"loss": losses, "metrics": metrics, "train_metrics": train_metrics}
    for field, parts in named.items():
        refuse_other_names(field, parts)
    places: list[tuple[str, Any, type]] = [
        (loss_path(losses, name), loss, Loss) for name, loss in losses.items()
    ]
    for field, parts in (("metrics", metrics), ("train_metrics", train_metrics)):
        places += [(f"{field}[{name!r}]", part, Metric) for name, part in parts.items()]
    for path, part, base in places:
        refuse_other_part(path, part, base)
    for name, loss in losses.items():
        refuse_other_weight(f"{loss_path(losses, name)}.weight", loss.weight)


def refuse_other_part(path: str, part: Any, base: type) -> None:
    """Refuses what is no `Loss` or no `Metric`.

    Raises:
      UserError: Naming the place and the base class.
    """
    if not isinstance(part, base):
        says = "`values`" if base is Loss else "`state` and `result`"
        raise UserError(
            f"{path} is a {type(part).__name__}, which is no {base.__name__}",
            f"make it a subclass of fdlkit's {base.__name__} that says {says}",
        )


def refuse_uncaptured(model: Any, parts: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuses key paths into `interms` of a model that keeps no intermediates.

    Args:
      model: A `Model`.
      parts: Losses and metrics by name, by the trainer's field.

    Raises:
      UserError: Naming the key path.
    """
    if hasattr(model, "apply_capturing"):
        return
    for field, named in parts.items():
        for name, part in named.items():
            where = loss_path(named, name) if field == "loss" else f"{field}[{name!r}]"
            for path, key in keys_of(part, where).items():
                if wanted_interms(keys=[key]):
                    raise no_intermediates(model, f"{path}={key!r} leads nowhere")


def refuse_other_optimizer(optimizer: Any) -> None:
    """Refuses what is no Optax transformation.

    Raises:
      UserError: Saying what it is.
    """
    if not (hasattr(optimizer, "init") and hasattr(optimizer, "update")):
        name = getattr(optimizer, "__name__", None)
        what = repr(optimizer) if name is None else f"the function {name}"
        raise UserError(
            f"optimizer is {what:.80}, which is no Optax transformation",
            "needed: something with `init` and `update`, as optax.adam(1e-3) returns",
        )


def refuse_dead_keys(
    context: Context,
    *,
    losses: Mapping[str, Loss],
    metrics: Mapping[str, Metric],
    train_metrics: Mapping[str, Metric],
    eval_batch: Mapping[str, jax.ShapeDtypeStruct] | None,
) -> None:
    """Refuses key paths that lead nowhere where they are read after training's losses.

    Args:
      context: The shapes of a training step's, after the losses.
      losses: That an evaluation computes too.
      metrics: Of evaluations.
      train_metrics: Of log points.
      eval_batch: The shapes of an evaluation's batch; None: there is none.

    Raises:
      DeadKeyError: The first such key path.
    """
    params = context["params"]
    at_log_point = {**context, "grads": params, "updates": params}
    parts: list[tuple[Any, str, Context]] = [
        (train_metrics, "train_metrics", at_log_point)
    ]
    if eval_batch is not None:
        at_evaluation = {**context, "batch": eval_batch}
        parts += [
            (loss, loss_path(losses, name), at_evaluation)
            for name, loss in losses.items()
        ]
        parts.append((metrics, "metrics", at_evaluation))
    for part, where, there in parts:
        for error in dead_keys(part, where, there):
            raise error


def refuse_other_names(field: str, parts: Any) -> None:
    """Refuses what names nothing, or by something else than texts.

    Raises:
      UserError: Naming the field of the trainer; a LoggedNameError of a name.
    """
    if not isinstance(parts, Mapping):
        raise UserError(
            f"{field} is a {type(parts).__name__}, and has to be a dict by name",
            "each one is logged under its name",
        )
    for name in parts:
        if not isinstance(name, str):
            raise LoggedNameError(
                f"{field}[{name!r}]",
                f"{field}[{name!r}]: a name has to be text, and this is of type "
                f"{type(name).__name__}",
                f"{field}[{str(name)!r}] would do",
            )
        if not name.isprintable() or not name.strip():
            raise LoggedNameError(
                f"{field}[{name!r}]",
                f"{field}[{name!r}]: a name has to be text that can be read on a line",
                "call it something else: its numbers are logged under it",
            )


def refuse_other_weight(path: str, weight: Any) -> None:
    """Refuses what no mean of a loss can be multiplied by.

    Raises:
      UserError: Naming the place.
    """
    if callable(weight) or (is_number(weight) and math.isfinite(weight)):
        return
    raise UserError(
        f"{path}={weight!r} is neither a finite number nor a function of the step"
    )


def refuse_other_factor(path: str, factor: Any) -> None:
    """Refuses what a weight comes to at a step, if that is no number.

    Raises:
      UserError: Naming the place.
    """
    if factor.shape:
        raise _no_number(path, factor.shape)


def is_number(value: Any) -> bool:
    """Whether something is one real number, whatever library it is of."""
    return isinstance(value, int | float | np.number | np.ndarray | jax.Array) and (
        np.ndim(value) == 0 and not np.iscomplexobj(value)
    )


def refuse_other_schedules(
    schedules: Mapping[str, Any], losses: Mapping[str, Loss], context: Context
) -> None:
    """Refuses what follows the step and is no number then.

    Args:
      schedules: What is logged, by name, as `Trainer.all_schedules`.
      losses: By name.
      context: The shapes of a training step's, after the losses.

    Raises:
      UserError: Naming the place, and what was raised or how many numbers it gives.
    """
    for name in losses:
        path = f"{loss_path(losses, name)}.weight"
        refuse_other_factor(path, context["losses"][name].factor)
    for name, schedule in schedules.items():
        _, slash, rest = name.partition("/")
        path = f"schedules[{rest!r}]" if slash else name
        if not callable(schedule):
            if not is_number(schedule):
                raise UserError(
                    f"{path}={schedule!r} is neither a number nor a function of the "
                    "step"
                )
            continue
        with explained_part(path):
            found = jax.eval_shape(
                lambda step, function=schedule: jnp.asarray(
                    function(step), jnp.float32
                ),
                step_spec(),
            )
        if found.shape:
            raise _no_number(path, found.shape)


def _no_number(path: str, shape: tuple[int, ...]) -> UserError:
    return UserError(
        f"{path} gives an array of shape {list(shape)} for a step, not a number",
        "a schedule is a function of the step, [] int32, that returns [] float32",
    )


def on_batch(
    losses: Mapping[str, Loss], context: Context, batch: Mapping[str, Any]
) -> Context:
    """The shapes of a context after its losses, with another batch of like shapes.

    Of an evaluation's batch that has a mask, say, which that of training has not.

    Args:
      losses: By name.
      context: The shapes of a training step's.
      batch: The shapes of the other batch.

    Raises:
      UserError: A loss that cannot be traced on it.
    """

    def computed(there: Context) -> dict[str, Any]:
        return {
            name: loss(there, where=loss_path(losses, name))
            for name, loss in told_losses(losses).items()
        }

    there = {**context, "batch": batch}
    return {**there, "losses": jax.eval_shape(computed, there)}


def refuse_other_states(
    metrics: Mapping[str, Any], context: Context, *, where: str
) -> dict[str, Any]:
    """Refuses metrics that cannot be traced.

    Args:
      metrics: From `told_metrics`.
      context: Shapes of what they read.
      where: The config path of the metrics.

    Returns:
      The shapes of their states, by name.

    Raises:
      UserError: See `told_metrics`.
    """
    states = functools.partial(compute_states, metrics, where=where)
    return jax.eval_shape(states, context)


def told_losses(losses: Mapping[str, Loss]) -> dict[str, Any]:
    """Losses for `forward` that name themselves, and what they read, if they raise."""
    return {name: functools.partial(_elements, loss) for name, loss in losses.items()}


def _elements(loss: Loss, context: Context, *, where: str) -> Any:
    with explained_part(where, reads=loss, context=context):
        try:
            return loss(context, where=where)
        except AttributeError as error:
            refuse_other_values(loss, error, where)
            raise


def told_metrics(metrics: Mapping[str, Metric]) -> dict[str, Any]:
    """Metrics for `compute_states` that name themselves where they go wrong.

    Called they raise a `UserError`: what their `state` raised, or what in it is no
    array of numbers.
    """
    return {name: functools.partial(_state, metric) for name, metric in metrics.items()}


def _state(metric: Metric, context: Context, *, where: str) -> Any:
    with explained_part(where, reads=metric, context=context):
        try:
            return held_to_kinds(metric)(context, where=where)
        except MaskError as error:  # which the metric cannot say whose it is
            raise MaskError(where, *error.shapes) from error


def explained_results(
    metrics: Mapping[str, Metric], states: Mapping[str, Any], *, where: str
) -> dict[str, Any]:
    """As `results`, of metrics whose code may raise or return something else.

    Args:
      metrics: By name.
      states: Theirs, merged.
      where: The config path of the metrics.

    Raises:
      RunFailedError: Naming the metric, and where it failed.
    """
    found: dict[str, Any] = {}
    for name, metric in metrics.items():
        try:
            found |= results({name: metric}, {name: states[name]})
        except Exception as error:
            raise RunFailedError(
                f"{where}[{name!r}] ({type(metric).__name__}): `result` gave no "
                "number, and no dict of numbers by name",
                *raised(error),
            ) from error
    return found


def explained_merge(
    metrics: Mapping[str, Metric],
    states: Mapping[str, Any] | None,
    more: Mapping[str, Any],
    *,
    where: str,
) -> Mapping[str, Any]:
    """As `merge_states`, of metrics whose code may raise.

    Raises:
      RunFailedError: Naming the metric, and where it failed.
    """
    if states is None:
        return merge_states(metrics, None, more)
    merged: dict[str, Any] = {}
    for name, metric in metrics.items():
        try:
            merged |= merge_states({name: metric}, states, more)
        except Exception as error:
            raise RunFailedError(
                f"{where}[{name!r}] ({type(metric).__name__}): `merge` of the states "
                "of two batches failed",
                *raised(error),
            ) from error
    return merged


@contextlib.contextmanager
def explained_part(
    path: str, *, reads: Any = None, context: Context | None = None
) -> Iterator[None]:
    """Says which part of a config could not be traced, and where it failed.

    Args:
      path: Of the part.
      reads: The part, where it is one with `Key` fields; what it read is told too.
      context: What it read from.
    """
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        read = [] if reads is None else read_by(reads, context or {})
        raise UserError(f"{path} cannot be traced", *raised(error), *read) from error


def read_by(part: Any, context: Context) -> list[str]:
    """A line on what a part's key paths lead to: `it reads preds float32[8, 1]`.

    And one on each that leads to no array, but to what has some.
    """
    arrays, others = {}, {}
    for key in keys_of(part, "").values():
        value = get_key(context, key)
        if hasattr(value, "shape") and hasattr(value, "dtype"):
            arrays[key] = f"{key} {value.dtype}{list(value.shape)}"
        elif below := names_below(value):
            there = ", ".join(map(str, below))
            others[key] = f"it reads {key}, which is no array; in it: {there}"
    return [
        *([f"it reads {', '.join(arrays.values())}"] if arrays else []),
        *others.values(),
    ]


@contextlib.contextmanager
def explained(
    batch: Mapping[str, jax.ShapeDtypeStruct], what: str = "the model does"
) -> Iterator[None]:
    """Says on what data a model could not be traced, and where it failed."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        shapes = ", ".join(f"{n} {list(a.shape)}" for n, a in batch.items())
        raise UserError(
            f"{what} not run on a batch of {shapes}", *raised(error)
        ) from error


def raised(error: Exception) -> list[str]:
    """What was raised, and the innermost line that tells what to mend."""
    frames = traceback.extract_tb(error.__traceback__)
    # Neither a library's line nor the trainer's own does.
    inner = [
        frame
        for frame in frames
        if "site-packages" not in frame.filename
        and os.path.join("fdlkit", "train") not in frame.filename
    ]
    at = [f"at {f.filename}:{f.lineno} in {f.name}" for f in inner[-1:]]
    return [f"{type(error).__name__}: {error}", *at]
