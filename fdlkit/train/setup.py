"""Everything a run derives from its config, checked before anything compiles."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.extend.core import jaxpr_as_fun
from jax.sharding import NamedSharding, PartitionSpec

from fdlkit.data.describe import check_same_tokenizer
from fdlkit.data.pipeline import Pipeline
from fdlkit.errors import UserError
from fdlkit.nn.stages import stage_faults
from fdlkit.sharding.layout import (
    AxisRules,
    check_divides,
    check_rules,
    check_tree,
    divisors,
    like_parameters,
    mesh_spec,
    named,
    spec_tree,
    split_of,
)
from fdlkit.train.context import (
    forward,
    model_inputs,
    step_spec,
    wanted_interms,
    wanted_parts,
)
from fdlkit.train.losses import Context, Loss
from fdlkit.train.metrics import Metric
from fdlkit.train.models import LinenModel, Model, refuse_unlike_inputs
from fdlkit.train.refusals import (
    explained,
    refuse_dead_keys,
    refuse_other_optimizer,
    refuse_other_parts,
    refuse_other_schedules,
    refuse_other_states,
    refuse_uncaptured,
    told_losses,
    told_metrics,
)
from fdlkit.train.result_names import (
    numbers_of,
    refuse_other_results,
    refuse_same_names,
)
from fdlkit.train.saved_state import OPTIONAL
from fdlkit.train.state import TrainState
from fdlkit.train.states import Packed
from fdlkit.train.step import (
    Schedule,
    initial_state,
    make_eval_step,
    make_train_step,
    measuring,
)
from fdlkit.train.throughput import count_flops
from fdlkit.train.update import UpdateRules, begin_updates, lay_out_updates

ArraySpecs = Mapping[str, jax.ShapeDtypeStruct]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Shapes:
    """The shapes of a run's arrays, before anything says where they live.

    Attributes:
      batch: Of a global training batch.
      eval_batch: Of a global evaluation batch, or None.
      inputs: Of the model's inputs.
      variables: Of what the model's `init` makes, boxed with logical axis names.
      state: Of the training state.
      init: `(inputs) -> state`.
    """

    batch: ArraySpecs
    eval_batch: ArraySpecs | None
    inputs: Mapping[str, Any]
    variables: Mapping[str, Any]
    state: TrainState
    init: Callable[[Any], TrainState]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Setup:
    """The functions of a run and where their arrays live.

    Attributes:
      mesh: The devices, or an abstract mesh: then all but running works.
      rules: What mesh axes a logical axis is cut over.
      shapes: The shapes of all arrays.
      shardings: A `NamedSharding` for each array of the training state.
      batch_sharding: The layout of every array of a batch.
      train_step: `(state, batch, votes) -> (state, report, measured)`.
      eval_step: `(params, model_state, batch, step) -> Packed`.
      context: The shapes of a training step's context after the losses; where a key
        asks for an intermediate, all that there are.
      flops: Model FLOPs of one training step, see `count_flops`.
      updates: How updates are made, beside the optimizer.
    """

    mesh: Any
    rules: AxisRules
    shapes: Shapes
    shardings: TrainState
    batch_sharding: NamedSharding
    train_step: Callable[..., tuple[TrainState, jax.Array, Any]]
    eval_step: Callable[..., Packed]
    context: Context
    flops: int
    updates: UpdateRules

    @property
    def state(self) -> TrainState:
        """The training state's shapes."""
        return self.shapes.state

    @property
    def batch(self) -> ArraySpecs:
        """The shapes of a global training batch."""
        return self.shapes.batch

    @property
    def eval_batch(self) -> ArraySpecs | None:
        """The shapes of a global evaluation batch, or None."""
        return self.shapes.eval_batch

    @property
    def replicated(self) -> NamedSharding:
        """The layout of an array that every device has whole."""
        return NamedSharding(self.mesh, PartitionSpec())

    def init_state(self) -> TrainState:
        """The state before step 1; every array is made where it will live."""
        inputs = jax.tree.map(lambda a: np.zeros(a.shape, a.dtype), self.shapes.inputs)
        with using(self.mesh, self.rules):
            return jax.jit(self.shapes.init, out_shardings=self.shardings)(inputs)

    def completed(self, state: TrainState) -> TrainState:
        """A state that another run saved, with what only this one keeps begun."""
        shardings = {
            name: getattr(self.shardings, name)
            for name in (*OPTIONAL, "window")
            if getattr(state, name) is None and getattr(self.state, name) is not None
        }
        if not shardings:
            return state

        def begin(params: Any) -> dict[str, Any]:
            fields = begin_updates(self.updates, params)
            fields["window"] = jnp.zeros(self.state.window.shape, jnp.float32)
            return {name: fields[name] for name in shardings}

        begun = jax.jit(begin, out_shardings=shardings)(state.params)
        return dataclasses.replace(state, **begun)

    def lower_train_step(
        self,
        votes: jax.ShapeDtypeStruct | None = None,
        *,
        platforms: tuple[str, ...] | None = None,
    ) -> Any:
        """The lowered training step; its state argument is donated.

        Args:
          votes: The shape of the step's third argument; None: it has none.
          platforms: What to lower for; on an abstract mesh it must be said.
        """
        with using(self.mesh, self.rules):
            return (
                self.jitted_train_step(votes)
                .trace(self.state, self.batch, votes)
                .lower(lowering_platforms=platforms)
            )

    def jitted_train_step(
        self,
        votes: jax.ShapeDtypeStruct | None = None,
        options: dict[str, Any] | None = None,
    ) -> Any:
        """The training step under `jax.jit`, to be traced or called with `using`.

        Args:
          votes: See `lower_train_step`.
          options: Of the compiler.
        """
        return jax.jit(
            self.train_step,
            donate_argnums=0,
            in_shardings=(
                self.shardings,
                self.batch_sharding,
                None if votes is None else votes.sharding,
            ),
            out_shardings=(self.shardings, self.replicated, self.replicated),
            compiler_options=options,
        )

    def lower_eval_step(self) -> Any:
        """The lowered evaluation step of `eval_data`."""
        assert self.eval_batch is not None
        return self.lower_evaluation(self.eval_step, self.eval_batch)

    def lower_evaluation(
        self, step: Callable[..., Packed], batch: ArraySpecs, *, live: bool = False
    ) -> Any:
        """A lowered evaluation step.

        Args:
          step: `(params, model_state, batch, step) -> Packed`.
          batch: The shapes of a global batch.
          live: Whether it is for the parameters themselves, also where there are
            averages of them.
        """
        params, layout = (
            (s.params if live else s.eval_params) for s in (self.state, self.shardings)
        )
        with using(self.mesh, self.rules):
            return jax.jit(
                step,
                in_shardings=(
                    layout,
                    self.shardings.model_state,
                    self.batch_sharding,
                    self.replicated,
                ),
                out_shardings=self.replicated,
            ).lower(params, self.state.model_state, batch, step_spec())


def programs_at_once(mesh: Any) -> int:
    """How many programs the devices of a mesh may have before them, to begin with.

    Virtual CPU devices share one thread pool: with two programs that hold collectives
    in flight, each can wait for threads that the other has.
    """
    virtual = mesh.size > 1 and jax.default_backend() == "cpu"
    return 1 if virtual else 2


@contextlib.contextmanager
def using(mesh: Any, rules: AxisRules) -> Iterator[None]:
    """Traces under a mesh, real or abstract, and the logical axis rules."""
    real = isinstance(mesh, jax.sharding.Mesh)
    abstract = mesh.abstract_mesh if real else mesh
    enter = jax.set_mesh(mesh) if real else jax.sharding.use_abstract_mesh(abstract)
    with enter, nn.logical_axis_rules(tuple(rules)):
        yield


def prepare(
    model: Model,
    losses: Mapping[str, Loss],
    optimizer: optax.GradientTransformation,
    *,
    mesh: Any,
    rules: AxisRules,
    inputs: Mapping[str, str],
    train_data: Pipeline,
    eval_data: Pipeline | None,
    metrics: Mapping[str, Metric],
    train_metrics: Mapping[str, Metric],
    schedules: Mapping[str, Schedule | float],
    num_train_steps: int,
    log_every: int,
    seed: int,
    updates: UpdateRules,
    shapes_on: Callable[[Any], Shapes],
) -> Setup:
    """Traces the whole run abstractly and lays it out on a mesh.

    Arguments are those of `Trainer`; `updates` is its `update_rules`, `shapes_on` its
    `shapes`. Nothing is compiled and no device is touched.

    Raises:
      UserError: An array that the mesh does not divide, a pipeline that does not fit
        mesh and batches, a key path that leads nowhere, a model that cannot be traced
        on its data, train and evaluation data with different tokenizers.
    """
    refuse_other_parts(losses, metrics, train_metrics)
    check_rules(rules, mesh)
    if eval_data is not None:
        check_same_tokenizer(train_data, eval_data)
    batch_spec = mesh_spec(("batch",), rules)
    check_batch("train_data", train_data, batch_spec, mesh=mesh)
    if eval_data is not None:
        check_batch("eval_data", eval_data, batch_spec, mesh=mesh)
    check_microbatches(
        updates.microbatches, train_data.batch_size, batch_spec, mesh=mesh
    )
    batches = batches_of(train_data, eval_data, updates.microbatches)
    check_stages(model, batches, mesh=mesh, rules=rules)

    shapes = shapes_on(mesh)
    read = {"loss": losses, "metrics": metrics, "train_metrics": train_metrics}
    refuse_uncaptured(model, read)
    with using(mesh, rules):
        state = shapes.state

        def context_of(variables: Any, batch: ArraySpecs, step: Any) -> Context:
            return forward(
                model,
                told_losses(losses),
                inputs,
                variables=variables,
                batch=batch,
                step=step,
                rngs={},
                # All of them, so that a misspelt one is told what there is.
                capture=[()] if wanted_interms(losses, metrics, train_metrics) else (),
            )[0]

        variables = {"params": state.params, **state.model_state}
        with explained(shapes.batch):
            jaxpr, context = jax.make_jaxpr(context_of, return_shape=True)(
                variables, shapes.batch, step_spec()
            )
    refuse_dead_keys(
        context,
        losses=losses,
        metrics=metrics,
        train_metrics=train_metrics,
        eval_batch=shapes.eval_batch,
    )
    told_at_log = told_metrics(train_metrics)
    refuse_other_schedules(schedules, losses, context)
    at_log_point = {**context, "grads": state.params, "updates": state.params}
    with using(mesh, rules):
        states = refuse_other_states(told_at_log, at_log_point, where="train_metrics")
    refuse_other_results(train_metrics, states, where="train_metrics")
    refuse_same_names(numbers_of(train_metrics, states), where="train_metrics")

    layout = state_layout(shapes, rules)
    specs = {"params": layout.params, **layout.model_state}
    check_tree(dict(shapes.variables), specs, mesh=mesh, rules=rules)
    return Setup(
        mesh=mesh,
        rules=rules,
        shapes=shapes,
        shardings=named(layout, mesh),
        batch_sharding=NamedSharding(mesh, batch_spec),
        train_step=make_train_step(
            model,
            losses,
            optimizer,
            inputs=inputs,
            schedules=schedules,
            log_every=log_every,
            num_train_steps=num_train_steps,
            seed=seed,
            rules=updates,
            capture=wanted_interms(losses, train_metrics),
            measure=measuring(told_at_log),
            measured_parts=wanted_parts(train_metrics),
        ),
        eval_step=make_eval_step(
            model,
            losses,
            inputs=inputs,
            metrics=told_metrics(metrics),
            capture=wanted_interms(losses, metrics),
        ),
        context=context,
        flops=3 * count_flops(jaxpr),
        updates=updates,
    )


def trace_shapes(
    model: Model,
    losses: Mapping[str, Loss],
    optimizer: optax.GradientTransformation,
    *,
    inputs: Mapping[str, str],
    train_data: Pipeline,
    eval_data: Pipeline | None,
    seed: int,
    updates: UpdateRules,
) -> Shapes:
    """Traces the making of the state on no device, under whatever mesh is around.

    Arguments are those of `Trainer`; `updates` is its `update_rules`.

    Raises:
      UserError: A key path that leads nowhere, or a model that cannot be traced on
        its data.
    """
    refuse_other_optimizer(optimizer)
    batch = abstract_batch(train_data)
    eval_batch = None if eval_data is None else abstract_batch(eval_data)

    def state_of(variables: Any) -> TrainState:
        return initial_state(variables, optimizer, tuple(losses), updates)

    with explained(batch):
        refuse_unlike_inputs(model, inputs)
        abstract_inputs = model_inputs(inputs, {"batch": batch, "step": step_spec()})
        # The key is made inside: made here it would be an array on a device.
        make_variables, variables = traced(
            lambda given: model.init(jax.random.key(seed), given), abstract_inputs
        )
        return Shapes(
            batch=batch,
            eval_batch=eval_batch,
            inputs=abstract_inputs,
            variables=variables,
            state=jax.eval_shape(state_of, variables),
            init=lambda given: state_of(make_variables(given)),
        )


def traced(function: Callable[[Any], Any], example: Any) -> tuple[Callable, Any]:
    """A function as its trace: who calls it runs no more of its Python.

    Args:
      function: Of one tree of arrays.
      example: The shapes of such a tree.

    Returns:
      The function on trees of these shapes, and the shapes of what it gives.
    """
    jaxpr, shapes = jax.make_jaxpr(function, return_shape=True)(example)
    structure = jax.tree.structure(shapes)

    def replay(given: Any) -> Any:
        leaves = jaxpr_as_fun(jaxpr)(*jax.tree.leaves(given))
        return jax.tree.unflatten(structure, leaves)

    return replay, shapes


def state_layout(shapes: Shapes, rules: AxisRules) -> TrainState:
    """A `PartitionSpec` for every array of the training state.

    Raises:
      UserError: A logical axis that no rule knows.
    """
    specs = spec_tree(dict(shapes.variables), rules)
    params = specs.pop("params", {})
    state = shapes.state
    return TrainState(
        step=PartitionSpec(),
        params=params,
        model_state=specs,
        opt_state=like_parameters(state.opt_state, state.params, params),
        window=PartitionSpec(),
        **lay_out_updates(state, params),
    )


def check_batch(
    what: str, pipeline: Pipeline, spec: PartitionSpec, *, mesh: Any
) -> None:
    """Refuses a global batch that the mesh does not cut into equal parts.

    Raises:
      UserError: Naming the pipeline's `batch_size`, the mesh and sizes that work.
    """
    name = f"{what}.batch_size={pipeline.batch_size}:"
    check_divides(name, (pipeline.batch_size,), spec, mesh=mesh, axes=("batch",))


def check_microbatches(
    count: int, batch_size: int, spec: PartitionSpec, *, mesh: Any
) -> None:
    """Refuses microbatches that do not cut a device's rows into equal parts.

    Raises:
      UserError: Naming numbers that work.
    """
    devices = split_of(spec[0] if spec else None, mesh)
    rows = batch_size // devices
    if rows % count == 0:
        return
    near = [max(n for n in divisors(rows) if n < count)]
    near += [n for n in divisors(rows) if n > count][:1]
    whole = max(round(batch_size / (devices * count)), 1) * devices * count
    raise UserError(
        f"microbatches={count}: they do not cut the {rows} rows of a device into "
        "equal parts",
        f"what would work: {' or '.join(map(str, near))}, or "
        f"train_data.batch_size={whole}",
    )


def check_stages(
    model: Model,
    batches: Mapping[str, int],
    *,
    mesh: Any,
    rules: AxisRules,
) -> None:
    """Refuses pipelines that do not fit, and stages of a mesh that no pipeline has.

    Raises:
      UserError: Naming the stack of layers and what would work.
    """
    if not isinstance(model, LinenModel):
        return
    for fault in stage_faults(model.module, mesh=mesh, rules=rules, batches=batches):
        if fault.kind != "idle":
            raise UserError(
                f"{fault.path}: {fault.text}", f"what would work: {fault.fix}"
            )


def batches_of(
    train_data: Pipeline, eval_data: Pipeline | None, microbatches: int
) -> dict[str, int]:
    """The rows that a model sees at a time, by what a person calls them.

    Args:
      train_data: Of the run.
      eval_data: Of the run, or None.
      microbatches: In how many parts a step computes its gradient.
    """
    rows = train_data.batch_size
    batches = {"a batch of train_data": rows}
    if microbatches > 1 and rows % microbatches == 0:
        batches = {f"one of microbatches={microbatches}": rows // microbatches}
    if eval_data is not None:
        batches["a batch of eval_data"] = eval_data.batch_size
    return batches


def abstract_batch(pipeline: Pipeline) -> ArraySpecs:
    """The shapes of a pipeline's global batches."""
    return {
        name: jax.ShapeDtypeStruct(array.shape, array.dtype)
        for name, array in pipeline.spec().items()
    }
