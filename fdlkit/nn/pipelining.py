"""A stack of layers as a pipeline: stages side by side, microbatches through them."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

from fdlkit.nn.walk import submodules
from fdlkit.sharding.constraints import constrain_dims, number_of_parts, splitting
from fdlkit.sharding.layout import divisors


class PipeliningError(ValueError):
    """A batch or a mesh that does not fit the stages and microbatches."""


@dataclasses.dataclass(frozen=True)
class PipeliningFault:
    """One thing that does not fit.

    Attributes:
      field: The field of `Pipelining` that it is about.
      text: What is wrong, with the numbers.
      fix: What to do.
      nearest: Values of the field that would work, the nearest first.
    """

    field: str
    text: str
    fix: str
    nearest: tuple[int, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pipelining:
    """Computes a stack of layers in stages, each on other rows of the batch at a time.

    The rows are cut into microbatches. In each iteration every stage computes its
    layers on one microbatch and hands the result to the next stage. Stages are cut over
    the mesh axes of the stack's `axis_name` (`stage`), so that the hand-over is a
    collective permute. Where that axis has one device, it computes all stages.

    Outputs, losses and gradients are those of the stack without a pipeline, up to the
    order of sums. Dropout draws for each layer and microbatch: the same numbers
    whatever the stages and repeats, but not those of the stack without a pipeline. What
    a layer sows as an intermediate is not kept.

    With `num_repeats=1` a stage has neighbouring layers: GPipe (Huang et al., 2019).
    With more, a microbatch goes round that often, and a stage has as many groups of
    layers: the circular or interleaved schedule (Narayanan et al., 2021). Its bubble is
    smaller. But parameters are stored in the order of the layers, so that every step
    first moves most of them to the stages that compute with them.

    Usage, on a mesh with `stage=4`:

    ```
    Repeat(block, 24, pipeline=Pipelining(num_stages=4, num_microbatches=16))
    ```

    Attributes:
      num_stages: The number of stages.
      num_microbatches: The number of parts that the rows of a batch are cut into.
      num_repeats: How often a microbatch goes through all stages.

    Raises:
      ValueError: A number is not positive, or there are fewer microbatches than stages
        and more than one repeat.
    """

    num_stages: int
    num_microbatches: int
    num_repeats: int = 1

    def __post_init__(self) -> None:
        for name, number in dataclasses.asdict(self).items():
            if number < 1:
                raise ValueError(f"{name}={number}: it must be one at least")
        if self.num_repeats > 1 and self.num_microbatches < self.num_stages:
            raise ValueError(
                f"num_microbatches={self.num_microbatches} is less than "
                f"num_stages={self.num_stages}: with num_repeats={self.num_repeats} a "
                "microbatch would be back at the first stage after its turn; "
                f"num_microbatches={self.num_stages} or more, or num_repeats=1"
            )

    @property
    def num_turns(self) -> int:
        """In how many iterations a stage has a microbatch."""
        return self.num_microbatches * self.num_repeats

    @property
    def num_iterations(self) -> int:
        """How many iterations a batch takes."""
        return self.num_turns + self.num_stages - 1

    @property
    def bubble(self) -> float:
        """The share of iterations in which a stage has none."""
        return (self.num_stages - 1) / self.num_iterations

    def refuse_stack(self, stack: Any) -> None:
        """Refuses a `Repeat` that cannot be computed so.

        Raises:
          ValueError: Its layers are not a multiple of the stages times the repeats, or
            hold a stack that is a pipeline too.
        """
        groups = self.num_stages * self.num_repeats
        if stack.n % groups:
            below = stack.n - stack.n % groups
            sizes = " or ".join(str(size) for size in (below, below + groups) if size)
            repeats = f" * num_repeats={self.num_repeats}" * (self.num_repeats > 1)
            raise ValueError(
                f"n={stack.n} layers do not fill the stages of the pipeline: it is not "
                f"a multiple of num_stages={self.num_stages}{repeats}; n={sizes} would "
                "be"
            )
        for path, inner in submodules(stack.block, "block"):
            if isinstance(getattr(inner, "pipeline", None), Pipelining):
                raise ValueError(
                    f"pipeline is given, and {path} has one too: one of them alone can "
                    "be computed in stages; set the other to None"
                )

    def faults(
        self, batches: Mapping[str, int], *, devices: int, row_devices: int
    ) -> Iterator[PipeliningFault]:
        """What does not fit.

        Args:
          batches: The rows of each kind of global batch, by what it is called.
          devices: Over how many devices the stack's layers are cut.
          row_devices: Over how many the rows of a batch are.
        """
        if devices not in (1, self.num_stages):
            yield PipeliningFault(
                "num_stages",
                f"num_stages={self.num_stages} on a mesh that cuts the layers over "
                f"{devices} devices: each of them has one stage, or one of them all",
                f"num_stages={devices}, or stage={self.num_stages} in the mesh",
                (devices,),
            )
        wanted = self.num_microbatches * row_devices
        for name, batch in batches.items():
            if batch % wanted:
                yield self._uneven(name, batch, batches, row_devices)

    def _uneven(
        self, name: str, batch: int, batches: Mapping[str, int], row_devices: int
    ) -> PipeliningFault:
        wanted = self.num_microbatches * row_devices
        each, left = divmod(math.gcd(*batches.values()), row_devices)
        least = self.num_stages if self.num_repeats > 1 else 1
        numbers = [n for n in divisors(each) if n >= least] if not left else []
        near = sorted(numbers, key=lambda n: abs(n - self.num_microbatches))[:2]
        below = batch - batch % wanted
        sizes = " or ".join(str(size) for size in (below, below + wanted) if size)
        of = f"num_microbatches={self.num_microbatches}"
        over = f" * {row_devices} devices" if row_devices > 1 else ""
        return PipeliningFault(
            "num_microbatches",
            f"{name} of {batch} rows is not a multiple of {of}{over}",
            " or ".join(
                [*(f"num_microbatches={n}" for n in near), f"a batch of {sizes}"]
            ),
            tuple(near),
        )

    def run(
        self,
        stack: Any,
        layer: Callable[..., jax.Array],
        policy: Callable[..., bool] | None,
        x: jax.Array,
        variables: Any,
        inputs: Mapping[str, Any],
    ) -> jax.Array:
        """Returns what the last layer of a stack makes of `x`.

        Args:
          stack: The bound `Repeat`.
          layer: `(block, x, variables, inputs) -> x`, of one layer.
          policy: What the backward pass keeps of a layer; None: everything.
          x: `[batch, time, embed]`, or other dims behind the first.
          variables: What `layer` wants besides: those of shared modules.
          inputs: What every layer gets by name. Arrays of `[batch, ...]` go with their
            microbatch, anything else (`[1, time]`, None) to all.

        Raises:
          PipeliningError: See `faults`.
        """
        batch, axis_name = x.shape[0], stack.axis_name
        for fault in self.faults(
            {"a batch": batch},
            devices=number_of_parts(axis_name),
            row_devices=number_of_parts("batch"),
        ):
            raise PipeliningError(f"{fault.text}; would work: {fault.fix}")
        one_layer = _unbound(stack, layer, policy)
        length = stack.n // (self.num_stages * self.num_repeats)
        keys = None
        if stack.has_rng("dropout"):
            keys = self._by_stage(jax.random.split(stack.make_rng("dropout"), stack.n))
        weights = jax.tree.map(
            lambda array: constrain_dims(self._by_stage(array), {2: axis_name}),
            stack.block.variables.get("params", {}),
        )
        leaves, structure = jax.tree.flatten(dict(inputs))
        goes_along = [jnp.ndim(a) > 0 and jnp.shape(a)[0] == batch for a in leaves]
        given = [
            self._microbatches(leaf) if goes else leaf
            for leaf, goes in zip(leaves, goes_along, strict=True)
        ]

        def compute(
            weights: Any, keys: Any, x: jax.Array, microbatch: jax.Array, *given: Any
        ) -> jax.Array:
            """One stage on one microbatch, `[rows, ...]`."""
            inputs = jax.tree.unflatten(structure, given)

            def one(x: jax.Array, of_layer: Any) -> tuple[jax.Array, None]:
                params, key = of_layer
                key = None if key is None else jax.random.fold_in(key, microbatch)
                return one_layer(params, key, x, variables, inputs), None

            return jax.lax.scan(
                one, x, (weights, keys), length=length, unroll=not stack.scan
            )[0]

        all_stages: Any = jax.vmap(
            compute,
            in_axes=(1, 1, 0, 0, *(0 if goes else None for goes in goes_along)),
            spmd_axis_name=splitting(axis_name),
        )
        stage = jnp.arange(self.num_stages)
        is_first = (stage == 0).reshape(-1, *[1] * x.ndim)

        def iteration(carry: Any, now: jax.Array) -> tuple[Any, None]:
            """Every stage computes once, and hands on what it has made.

            Carried are what each stage is to work on, `[stage, rows, ...]`, and what
            waits for the first of them, `[stage, microbatch, rows, ...]`. Every stage
            keeps there whatever is handed to it and only the first one reads it, so
            that the stages exchange nothing else.
            """
            x, waiting = carry
            slot = now % self.num_microbatches
            x = jnp.where(is_first, _at(waiting, slot), x)
            # A stage whose first microbatch is still to come, or whose last one has
            # gone, computes on others' rows, and nothing is ever made of that.
            microbatch = (now - stage) % self.num_microbatches
            along = [
                constrain_dims(rows[microbatch], {0: axis_name, 1: "batch"})
                if goes
                else rows
                for rows, goes in zip(given, goes_along, strict=True)
            ]
            layers = self._in_turn(now, (weights, keys))
            x = self._stages(all_stages(*layers, x, microbatch, *along), axis_name)
            x = self._stages(jnp.concatenate([x[-1:], x[:-1]]), axis_name)
            turn = now - (self.num_stages - 1)  # of the last stage
            slot = turn % self.num_microbatches
            kept = jnp.where(turn >= 0, x, _at(waiting, slot))
            waiting = jax.lax.dynamic_update_index_in_dim(waiting, kept, slot, axis=1)
            return (x, waiting), None

        rows = self._microbatches(x)
        waiting = nn.with_logical_constraint(
            jnp.broadcast_to(rows, (self.num_stages, *rows.shape)),
            (axis_name, None, *activation_axes(x.ndim)),
        )
        # What stages begin on are real rows: of zeros, a gradient need not be finite.
        carry = (self._stages(waiting[:, 0], axis_name), waiting)
        # By this name `count_flops` knows what share of the loop is of use.
        with jax.named_scope(bubble_scope(self.num_turns, self.num_iterations)):
            (_, waiting), _ = jax.lax.scan(
                iteration, carry, jnp.arange(self.num_iterations), unroll=not stack.scan
            )
        # Only the first stage has the results; a sum brings them to all.
        rows = jnp.sum(jnp.where(is_first[:, None], waiting, 0), axis=0)
        x = jnp.swapaxes(rows, 0, 1).reshape(x.shape).astype(x.dtype)
        return nn.with_logical_constraint(x, activation_axes(x.ndim))

    def _by_stage(self, array: jax.Array) -> jax.Array:
        """`[layers, ...]` to `[repeat, layers of one, stage, ...]`."""
        shape = (self.num_repeats, self.num_stages, -1, *array.shape[1:])
        return jnp.swapaxes(array.reshape(shape), 1, 2)

    def _microbatches(self, array: jax.Array) -> jax.Array:
        """`[batch, ...]` to `[microbatch, rows, ...]`.

        Of neighbouring rows each goes to another microbatch. So every device has rows
        of all of them, as it has of the batch, and none has to be sent.
        """
        shape = (-1, self.num_microbatches, *array.shape[1:])
        return jnp.swapaxes(array.reshape(shape), 0, 1)

    def _stages(self, array: jax.Array, axis_name: str) -> jax.Array:
        """`[stage, rows, ...]`, each stage on its own devices."""
        axes = activation_axes(array.ndim - 1)
        return nn.with_logical_constraint(array, (axis_name, *axes))

    def _in_turn(self, now: jax.Array, layers: Any) -> Any:
        """What each stage computes with: `[layers of one, stage, ...]`.

        With several repeats a stage is in the round of the first stage or, if the
        round's first microbatch has not reached it, in the one before.
        """
        if self.num_repeats == 1:
            return jax.tree.map(lambda array: array[0], layers)
        last = self.num_repeats - 1
        newer = jnp.minimum(now // self.num_microbatches, last)
        older = jnp.maximum(now // self.num_microbatches - 1, 0)
        reached = jnp.arange(self.num_stages) <= now % self.num_microbatches

        def pick(array: jax.Array) -> jax.Array:
            by_stage = reached.reshape(1, -1, *[1] * (array.ndim - 3))
            return jnp.where(by_stage, array[newer], array[older])

        return jax.tree.map(pick, layers)


def activation_axes(rank: int) -> tuple[str | None, ...]:
    """The logical names of an activation's dims."""
    if rank == 3:
        return ("batch", "time", "embed")
    return ("batch", *[None] * (rank - 1))


def _unbound(
    stack: Any,
    layer: Callable[..., jax.Array],
    policy: Callable[..., bool] | None,
) -> Callable[..., jax.Array]:
    """`(parameters, dropout key or None, x, variables, inputs) -> x` of one layer.

    It is apart from the stack that holds it: Flax's own loops compute one layer after
    another, and here some are computed at a time.
    """
    apply = nn.apply(layer, stack.block.copy(parent=None, name=None))

    def one_layer(
        params: Any, key: jax.Array | None, x: jax.Array, variables: Any, inputs: Any
    ) -> jax.Array:
        rngs = {} if key is None else {"dropout": key}
        return apply({"params": params}, x, variables, inputs, rngs=rngs)

    if policy is None:
        return one_layer
    # Inside a loop XLA cannot merge the second computation with the first.
    return jax.checkpoint(one_layer, policy=policy, prevent_cse=not stack.scan)


def _at(waiting: jax.Array, slot: jax.Array) -> jax.Array:
    return jax.lax.dynamic_index_in_dim(waiting, slot, axis=1, keepdims=False)


def bubble_scope(turns: int, iterations: int) -> str:
    """The name of a loop that computes something of use in so many iterations."""
    return f"pipeline_{turns}_of_{iterations}"


def share_of_use(scope: str) -> float:
    """What share of a loop's iterations is of use, by the scope that it is in."""
    named = re.search(r"pipeline_(\d+)_of_(\d+)$", scope)
    return 1.0 if named is None else int(named[1]) / int(named[2])
