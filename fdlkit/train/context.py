"""A step's context: the plain nested data that losses and metrics read by key paths.

What is there, and from when on:

    batch       the batch, as the pipeline made it                 at the beginning
    step        the updates made before this one, [] int32         at the beginning
    params      the trained variables that the step began with     after the model
    preds       what the model returned                            after the model
    interms     what modules inside it returned, if a key asks     after the model
    losses      `Elements` by the loss's name                      after the losses
    grads       of the total with respect to `params`              after the gradient
    updates     what is added to `params`                          after the optimizer
    metrics     states of the metrics before this one, by name     beside each metric

The model's inputs read the beginning, losses what is there after the model. Metrics of
an evaluation read what is there after the losses, `train_metrics` everything.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from fdlkit.errors import UserError
from fdlkit.key_guesses import likeliest_key, spelled_key
from fdlkit.keys import DeadKeyError, get_key, is_key, keys_of, parse_key
from fdlkit.suggest import did_you_mean
from fdlkit.train.losses import Context, Loss
from fdlkit.train.models import Model, Place


def named_losses(loss: Loss | Mapping[str, Loss]) -> Mapping[str, Loss]:
    """The losses of a trainer by name; a single one is named `loss`."""
    return loss if isinstance(loss, Mapping) else {"loss": loss}


def step_spec() -> jax.ShapeDtypeStruct:
    """The shape of `step`."""
    return jax.ShapeDtypeStruct((), jnp.int32)


def loss_path(losses: Collection[str], name: str) -> str:
    """The config path of a loss of this name: `loss` where there is but one."""
    return "loss" if tuple(losses) == ("loss",) else f"loss[{name!r}]"


def model_inputs(inputs: Mapping[str, str], context: Context) -> dict[str, Any]:
    """The model's arguments, taken from the context by their key paths."""
    return {
        name: get_key(context, key, wanted_by=f"inputs.{name}")
        for name, key in inputs.items()
    }


def wanted_interms(*parts: Any, keys: Sequence[str] = ()) -> tuple[Place, ...]:
    """The places below `interms` that are read, each once.

    Args:
      *parts: Losses, metrics, and mappings of them.
      keys: Other key paths.
    """
    texts = (*keys_of(parts, "").values(), *keys)
    # One that is no key path is refused where it is looked up.
    read = [
        parse_key(key)
        for key in texts
        if str(key).startswith("interms") and is_key(key)
    ]
    return tuple(dict.fromkeys(key[1:] for key in read if key[0] == "interms"))


def wanted_parts(*parts: Any, keys: Sequence[str] = ()) -> tuple[str, ...]:
    """Which of what a model gives is read: `preds`, `interms`, both or none."""
    texts = [str(key) for key in (*keys_of(parts, "").values(), *keys)]
    return tuple(
        name
        for name in ("preds", "interms")
        if any(re.match(rf"{name}\b", text) for text in texts)
    )


def dead_keys(part: Any, where: str, context: Context) -> Iterator[DeadKeyError]:
    """The key paths of a part that lead nowhere in a context; nothing is computed.

    Of those into `metrics`, the states of metrics before, the metric's name alone is
    looked up.

    Args:
      part: A loss, a metric, or a mapping of them.
      where: Its config path.
      context: A step's, of arrays or of their shapes.
    """
    if isinstance(part, Mapping):
        yield from _dead_metrics(part, where)
    for path, key in keys_of(part, where).items():
        if isinstance(part, Mapping) and str(key).startswith("metrics."):
            continue
        try:
            get_key(context, key, wanted_by=path)
        except DeadKeyError as error:
            yield error


def _dead_metrics(metrics: Mapping[str, Any], where: str) -> Iterator[DeadKeyError]:
    """Key paths into the states of metrics that are not there yet, or not at all."""
    before: list[str] = []
    for name, metric in metrics.items():
        for path, key in keys_of(metric, f"{where}[{name!r}]").items():
            root, *rest = parse_key(key) if is_key(key) else (key,)
            if root != "metrics" or not rest or rest[0] in before:
                continue
            read = str(rest[0])
            comes_later = read in metrics and read != name
            states = {"metrics": dict.fromkeys(before)}
            meant = None if comes_later else likeliest_key(states, (root, read))
            if meant is not None:
                meant = spelled_key((*parse_key(meant), *rest[1:]))
            hint = did_you_mean(meant)
            do = "a metric reads the states of those before it"
            yield DeadKeyError(
                path,
                key,
                f"{path}={key!r} leads nowhere: no {read!r} among the metrics before "
                f"{name!r}",
                *([hint] if hint else []),
                f"before it: {', '.join(before) or 'none'}",
                f"put {read!r} before {name!r}: {do}" if comes_later else do,
                meant=meant,
                there=[f"metrics.{one}" for one in before],
            )
        before.append(name)


def forward(
    model: Model,
    losses: Mapping[str, Loss],
    inputs: Mapping[str, str],
    *,
    variables: Mapping[str, Any],
    batch: Mapping[str, Any],
    step: jax.Array,
    rngs: Mapping[str, jax.Array],
    capture: Sequence[Place] = (),
) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """The context of a step after the model and the losses ran.

    Args:
      model: The model.
      losses: By name.
      inputs: The model's arguments by name, as key paths.
      variables: The model's.
      batch: The batch.
      step: How many updates were made, [] int32.
      rngs: For the model: a step in training gives `dropout`, evaluation nothing.
      capture: The intermediates that a key asks for; without any, the model is applied
        as ever and there is no `interms`.

    Returns:
      The context, and the model's other variable collections as they are now.
    """
    context: dict[str, Any] = {"batch": batch, "step": step}
    given = model_inputs(inputs, context)
    context["params"] = variables.get("params", {})
    if capture:
        context["preds"], model_state, context["interms"] = capturing(model)(
            variables, given, rngs, capture
        )
    else:
        context["preds"], model_state = model.apply(variables, given, rngs)
    found = {
        name: loss(context, where=loss_path(losses, name))
        for name, loss in losses.items()
    }
    return context | {"losses": found}, model_state


def capturing(model: Model) -> Any:
    """How a model is applied so that intermediates are kept.

    Raises:
      UserError: It is of a kind that has none.
    """
    apply = getattr(model, "apply_capturing", None)
    if apply is None:
        raise no_intermediates(model, "a key path begins with interms")
    return apply


def no_intermediates(model: Model, read: str) -> UserError:
    """That a model keeps none, though something reads them; `read` says what."""
    return UserError(
        f"{read}, and a {type(model).__name__} keeps no intermediates",
        "modules of Flax Linen and of Flax NNX do",
        "let the model return what is wanted, and read it from preds",
    )
