"""Pairs of pure functions as models of the trainer: Haiku's shape, and one's own."""

from __future__ import annotations

import dataclasses
import fnmatch
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import flax.linen as nn
import jax

from fdlkit import suggest
from fdlkit.errors import UserError
from fdlkit.sharding.layout import tree_path
from fdlkit.train.models import Inputs, Variables


class HasInitAndApply(Protocol):
    """What `hk.transform` and `hk.transform_with_state` return, among others.

    Without a state: `init(rng, **inputs) -> params` and
    `apply(params, rng, **inputs) -> preds`. With one: `init` returns
    `(params, state)`, and `apply(params, state, rng, **inputs)` returns
    `(preds, state)`. `params` and `state` are any trees of arrays.
    """

    @property
    def init(self) -> Callable[..., Any]:
        """Makes the parameters."""

    @property
    def apply(self) -> Callable[..., Any]:
        """Runs the model."""


class InitAndApply(NamedTuple):
    """Two functions as a pair; see `HasInitAndApply`.

    Attributes:
      init: Makes the parameters.
      apply: Runs the model.
    """

    init: Callable[..., Any]
    apply: Callable[..., Any]


@dataclasses.dataclass(frozen=True)
class FunctionModel:
    """Two pure functions as a `Model`; inputs are passed by keyword.

    Usage:

    ```
    FunctionModel(hk.transform(forward))
    FunctionModel(InitAndApply(init, apply))
    ```

    In training `apply` gets a random key, for dropout; in evaluation it gets None.

    Attributes:
      functions: The pair.
      stateful: Whether there is a state that goes from step to step (running means).
      training: The name of the argument that says whether this is training, which
        `init` and `apply` then get as a keyword (Haiku: `is_training`); None: they
        do not take one.
      axes: Logical names of the dims of parameters, by a pattern of their paths
        (`*/linear*/w`, as `fnmatch` reads it; the first that fits counts). An array
        that no pattern fits is whole on every device.
    """

    functions: HasInitAndApply
    _: dataclasses.KW_ONLY
    stateful: bool = False
    training: str | None = None
    axes: Mapping[str, Sequence[str | None]] = dataclasses.field(default_factory=dict)

    def init(self, rng: jax.Array, inputs: Inputs) -> Variables:
        """Initial `params`, and the `state` if there is one.

        Raises:
          UserError: A pattern of `axes` that fits no parameter, or one of another
            number of dims.
        """
        made = self.functions.init(rng, **inputs, **self._told(training=True))
        if not self.stateful:
            return {"params": self._named(made)}
        params, state = made
        return {"params": self._named(params), "state": state}

    def apply(
        self, variables: Variables, inputs: Inputs, rngs: Mapping[str, jax.Array]
    ) -> tuple[Any, Variables]:
        """Runs the model; the `state` may change in training."""
        rest = (rngs.get("dropout"),)
        told = self._told(training=bool(rngs))
        params = variables.get("params", {})
        if not self.stateful:
            return self.functions.apply(params, *rest, **inputs, **told), {}
        state = variables.get("state", {})
        preds, state = self.functions.apply(params, state, *rest, **inputs, **told)
        return preds, {"state": state} if rngs else {}

    def _told(self, *, training: bool) -> dict[str, bool]:
        return {} if self.training is None else {self.training: training}

    def _named(self, params: Any) -> Any:
        """The parameters, boxed with the logical names that `axes` gives them."""
        fitted: set[str] = set()

        def box(path: Sequence[Any], array: Any) -> Any:
            text = tree_path(path)
            for pattern, names in self.axes.items():
                if not fnmatch.fnmatchcase(text, pattern):
                    continue
                if len(names) != array.ndim:
                    raise UserError(
                        f"model.axes[{pattern!r}] names {len(names)} dims, and the "
                        f"parameter {text} has {array.ndim}: {list(array.shape)}",
                        "give a name or None for each dim",
                    )
                fitted.add(pattern)
                return nn.LogicallyPartitioned(array, tuple(names))
            return array

        named = jax.tree_util.tree_map_with_path(box, params)
        for pattern in self.axes:
            if pattern not in fitted:
                leaves = jax.tree_util.tree_leaves_with_path(params)
                paths = [tree_path(path) for path, _ in leaves]
                meant = suggest.hint(pattern, paths)
                raise UserError(
                    f"model.axes[{pattern!r}] names the dims of no parameter",
                    *([meant] if meant else []),
                    f"parameters: {', '.join(paths)}",
                )
        return named
