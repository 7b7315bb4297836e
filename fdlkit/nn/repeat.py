"""The same layer many times, on one stacked parameter tree."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import flax.linen as nn
import jax
from flax.typing import VariableDict

from fdlkit.nn.pipelining import Pipelining
from fdlkit.nn.remat import remat_policy
from fdlkit.nn.walk import submodules


class Repeat(nn.Module):
    """Runs `n` layers that are built alike, each with its own parameters.

    Their parameters are one tree whose arrays have a leading axis of length `n`.

    Attributes:
      block: The template: `[batch, time, embed]` to the same shape and dtype.
      n: The number of layers.
      scan: Compile one layer and loop over it; else lay all of them out: slower to
        compile, and faster where loops are slow. The parameters are one tree all the
        same: initial values, outputs and dropout are equal to the bit either way, and a
        checkpoint of one opens in the other.
      shared: Modules that are used inside the layers *and* elsewhere, or by all layers
        alike. Their parameters stay outside the stack, once, and each layer gets them
        as callables: `block(x, *shared, **inputs)`. Held by a field of the template
        instead, one would be a different module: see `refuse_hidden_sharing`.
      axis_name: The logical name of the leading axis. A `Repeat` inside a `Repeat`
        needs its own.
      remat: What the backward pass computes again, layer by layer: `none`, `full`, or
        the name of one of `jax.checkpoint_policies`, such as `dots_saveable`.
      pipeline: Has the layers computed in stages, side by side on the mesh axes of
        `axis_name` (`stage`), on one microbatch each; None: one after another. The
        parameters are the same tree with the same initial values either way, so that
        a checkpoint of one opens in the other. Where a cache of keys and values is
        written (`mutable=["cache"]`), layers are computed one after another all the
        same: there is one token a row, and nothing to cut. What is no `Pipelining` is
        a TypeError.

    Raises:
      ValueError: `n` is not positive, or an attribute is not as said above.
    """

    block: nn.Module
    n: int
    scan: bool = True
    shared: tuple[nn.Module, ...] = ()
    axis_name: str = "layers"
    remat: str = "none"
    pipeline: Pipelining | None = None

    def __post_init__(self) -> None:
        """Refuses what could not run."""
        super().__post_init__()
        if self.n < 1:
            raise ValueError(f"n={self.n} layers: there must be one at least")
        remat_policy(self.remat)
        pipeline: Any = self.pipeline  # whatever a config has put there
        if pipeline is not None:
            if not isinstance(pipeline, Pipelining):
                raise TypeError(f"pipeline={pipeline!r} is no Pipelining")
            pipeline.refuse_stack(self)
        for path, inner in submodules(self.block, "block"):
            if isinstance(inner, Repeat) and inner.axis_name == self.axis_name:
                raise ValueError(
                    f"axis_name={self.axis_name!r} is also that of the Repeat at "
                    f"{path}: a Repeat inside a Repeat needs its own"
                )

    @nn.compact
    def __call__(self, x: jax.Array, **inputs: Any) -> jax.Array:
        """Returns what the last layer returns.

        Args:
          x: What the first layer gets: `[batch, time, embed]`.
          **inputs: What every layer gets by name, unchanged, such as `segment_ids`.
        """
        if self.shared and self.is_initializing():
            self._initialise_shared(x, inputs)
        modules = tuple(module.copy(parent=None, name=None) for module in self.shared)
        variables = tuple(module.variables for module in self.shared)

        def layer(
            block: nn.Module,
            x: jax.Array,
            variables: tuple[VariableDict, ...],
            inputs: dict[str, Any],
        ) -> jax.Array:
            shared = (
                SharedModule(module, values, block)
                for module, values in zip(modules, variables, strict=True)
            )
            return block(x, *shared, **inputs)

        policy = remat_policy(self.remat)
        if self.pipeline is not None and not (
            self.is_initializing() or self.is_mutable_collection("cache")
        ):
            return self.pipeline.run(self, layer, policy, x, variables, inputs)
        if policy is not None:
            # Inside a loop XLA cannot merge the second computation with the first.
            layer = nn.remat(layer, policy=policy, prevent_cse=not self.scan)

        def step(block: nn.Module, x: jax.Array, *rest: Any) -> tuple[jax.Array, None]:
            return layer(block, x, *rest), None

        loop = nn.scan(
            step,
            variable_axes={"params": 0, "intermediates": 0, "cache": 0},
            split_rngs={"params": True, "dropout": True},
            in_axes=nn.broadcast,
            length=self.n,
            # Else the layer is traced twice, to see that variables which all of them
            # share do not change: this loop has none. While it is initialised that
            # stays: the keys drawn depend on it, and with them what a seed gives.
            check_constancy_invariants=self.is_initializing(),
            unroll=1 if self.scan else self.n,
            metadata_params={nn.PARTITION_NAME: self.axis_name},
        )
        return loop(self.block, x, variables, inputs)[0]

    def _initialise_shared(self, x: jax.Array, inputs: dict[str, Any]) -> None:
        """Has the shared modules make their parameters, once, outside the loop.

        A throw-away copy of the template calls them where they really live; XLA drops
        the rest.
        """
        block = self.block.copy(parent=None, name=None)
        shared = (SharedModule(module) for module in self.shared)
        block.init(jax.random.key(0), x, *shared, **inputs)


@dataclasses.dataclass(frozen=True)
class SharedModule:
    """A module as the layers of a `Repeat` see it: to be called, not to be owned.

    Attributes:
      module: The module.
      variables: Its variables, the same in all layers; None: the module has them.
      caller: The layer that calls: the random keys for dropout are drawn from it.
    """

    module: nn.Module
    variables: VariableDict | None = None
    caller: nn.Module | None = None

    def __call__(
        self, *args: Any, method: Callable[..., Any] | None = None, **kwargs: Any
    ) -> Any:
        """Calls the module, or another method of its class: `method=Embed.attend`."""
        if self.variables is None or self.caller is None:
            call = type(self.module).__call__ if method is None else method
            return call(self.module, *args, **kwargs)
        rngs = {}
        if self.caller.has_rng("dropout"):
            rngs["dropout"] = self.caller.make_rng("dropout")
        return self.module.apply(
            self.variables, *args, rngs=rngs, method=method, **kwargs
        )
