"""What the trainer asks of a model, and how a Flax Linen module gives it."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import flax.linen as nn
import jax

from fdlkit import suggest
from fdlkit.errors import UserError
from fdlkit.nn.sharing import refuse_hidden_sharing

Inputs = Mapping[str, Any]
Variables = Mapping[str, Any]
# Below `interms` in a step's context: `("encoder", "__call__", 0)`.
Place = tuple[str | int, ...]


@runtime_checkable
class Model(Protocol):
    """A model as two pure functions over variables.

    `variables` is a mapping of collections, with the trained ones under `params`
    and anything else that the model carries from step to step (running means)
    under names of its own.
    """

    def init(self, rng: jax.Array, inputs: Inputs) -> Variables:
        """Variables at step 0, boxed with logical axis names where they have any."""

    def apply(
        self, variables: Variables, inputs: Inputs, rngs: Mapping[str, jax.Array]
    ) -> tuple[Any, Variables]:
        """Predictions, and the collections other than `params` as they are now.

        A step in training gives `rngs["dropout"]`; evaluation gives no rngs, and
        then the model is deterministic.
        """


@runtime_checkable
class TakesInputs(Protocol):
    """A model that can say what its inputs are called, before it is traced."""

    def called(self) -> tuple[str, Callable[..., Any]]:
        """The name of what is called with the inputs, and the call itself."""


@dataclasses.dataclass(frozen=True)
class LinenModel:
    """A Flax Linen module as a `Model`; inputs are passed by keyword."""

    module: nn.Module

    def called(self) -> tuple[str, Callable[..., Any]]:
        """The module's class and its `__call__`."""
        return type(self.module).__name__, self.module.__call__

    def init(self, rng: jax.Array, inputs: Inputs) -> Variables:
        """Initial variables of the module."""
        params_rng, dropout_rng = jax.random.split(rng)
        rngs = {"params": params_rng, "dropout": dropout_rng}
        return self.module.init(rngs, **inputs)

    def apply(
        self, variables: Variables, inputs: Inputs, rngs: Mapping[str, jax.Array]
    ) -> tuple[Any, Variables]:
        """Runs the module; collections other than `params` may change in training."""
        mutable = [name for name in variables if name != "params"] if rngs else []
        return self.module.apply(variables, rngs=dict(rngs), mutable=mutable, **inputs)

    def apply_capturing(
        self,
        variables: Variables,
        inputs: Inputs,
        rngs: Mapping[str, jax.Array],
        wanted: Sequence[Place],
    ) -> tuple[Any, Variables, Mapping[str, Any]]:
        """Runs the module as `apply` does, and keeps what modules in it return.

        Args:
          variables: As for `apply`.
          inputs: As for `apply`.
          rngs: As for `apply`.
          wanted: The places to be kept, `("encoder", "__call__", 0)`; `()`: all but
            what methods with a leading underscore return, which a place must name.

        Returns:
          What `apply` does, and the intermediates: nested by the modules' names, a
          tuple for each method with an item a call. Those of a `Repeat`'s layers are
          stacked, `[layers, ...]`. What a module sows there is among them.
        """

        def keeps(module: nn.Module, method: str) -> bool:
            if module.scope is None:  # it asks itself something while it is made
                return False
            at = (*module.path, method)
            # A helper may give what is no array, which no stack of layers can stack.
            is_helper = method.startswith("_") and method != "__call__"
            return any(
                place[: len(at)] == at or (at[: len(place)] == place and not is_helper)
                for place in wanted
            )

        carried = [name for name in variables if name != "params"] if rngs else []
        preds, changed = self.module.apply(
            variables,
            rngs=dict(rngs),
            mutable=[*carried, "intermediates"],
            capture_intermediates=keeps,
            **inputs,
        )
        model_state = dict(changed)
        return preds, model_state, model_state.pop("intermediates", {})


def as_model(model: Any) -> Model:
    """The model itself, or an adapter for a Flax Linen module.

    Raises:
      UserError: It is neither; or a module is used inside a repeated template and
        outside it.
    """
    if isinstance(model, nn.Module):
        refuse_hidden_sharing(model)
        return LinenModel(model)
    # A pair of functions is a tuple that has both names, and takes other arguments.
    if not isinstance(model, Model) or isinstance(model, tuple):
        raise UserError(
            f"model: this is not a model: {type(model).__name__}",
            "a Flax Linen module is one as it is",
            "a Flax NNX module: fdlkit.train.nnx_models.NnxModel of a recipe for it",
            "a pair of functions, such as hk.transform gives: "
            "fdlkit.train.function_models.FunctionModel",
        )
    return model


def refuse_unlike_inputs(model: Model, inputs: Iterable[str]) -> None:
    """Refuses names of inputs that a module's `__call__` does not take.

    Raises:
      UserError: Naming the input, or the argument that no input is for.
    """
    if not isinstance(model, TakesInputs):
        return
    name, call = model.called()
    takes = dict(inspect.signature(call).parameters)
    kinds = {parameter.kind for parameter in takes.values()}
    by_name = [
        argument
        for argument, parameter in takes.items()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    ]
    given = list(inputs)
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        for unknown in (argument for argument in given if argument not in by_name):
            meant = suggest.hint(unknown, by_name)
            raise UserError(
                f"inputs.{unknown}: the model {name} takes no argument {unknown!r}",
                *([meant] if meant else []),
                f"its __call__ takes: {', '.join(by_name) or 'nothing'}",
            )
    for argument in by_name:
        if takes[argument].default is inspect.Parameter.empty and argument not in given:
            raise UserError(
                f"inputs: the model {name} needs {argument!r}",
                f"say where it is in the batch: inputs.{argument}=batch.{argument}",
            )
