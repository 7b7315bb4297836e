"""The card of an experiment: what it is in numbers, told on no accelerator."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from fdlkit.check import batches, footprint, layouts, module_paths, trace
from fdlkit.check.footprint import Footprint
from fdlkit.errors import UserError
from fdlkit.graph import paths
from fdlkit.nn.repeat import Repeat
from fdlkit.nn.walk import submodules
from fdlkit.sharding.layout import AxisRules, tree_path
from fdlkit.sharding.mesh import MESH_AXES
from fdlkit.train.context import forward, step_spec, wanted_interms
from fdlkit.train.models import as_model
from fdlkit.train.setup import Shapes, using
from fdlkit.train.throughput import count_flops

if TYPE_CHECKING:
    from fdlkit.check.subject import Subject
    from fdlkit.train.trainer import Trainer

FLOPS_CONVENTION = (
    "matrix products and convolutions, a multiply-add as two; the backward pass as "
    "twice the forward pass; attention over whole rows, masked or not; neither "
    "element-wise work nor what rematerialisation computes again"
)
POINTS = 61  # of a schedule's sketch


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModuleSize:
    """The parameters of one node of the model.

    Attributes:
      path: Its config path; what its own small modules have counts as its own.
      parameters: How many numbers.
      bytes: As they are stored.
    """

    path: str
    parameters: int
    bytes: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class BatchCut:
    """How one mesh axis cuts a batch.

    Attributes:
      axis: The mesh axis.
      size: Its devices.
      cuts: `rows`, `time`, or None: every device along it gets the same part.
    """

    axis: str
    size: int
    cuts: str | None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Batch:
    """The algebra of batches.

    Attributes:
      rows: Of a global training batch.
      rows_per_device: Of one device.
      microbatches: In how many parts, one after another, a device computes them.
      arrays: Shape and type of each array of a batch: `int32[8, 128]`.
      cuts: Mesh axes of more than one device.
      elements: Elements of the loss in a step; None where the loss is no array.
      unit: What an element is, in the plural.
      steps: How many updates the run makes.
      examples: Rows in an epoch of the training data; None if it cannot be opened.
      eval_rows: Rows that an evaluation sees; None if there is none.
      eval_batches: In how many batches.
      eval_filled: Rows of zeros that fill the last of them.
    """

    rows: int
    rows_per_device: float
    microbatches: int
    arrays: Mapping[str, str]
    cuts: tuple[BatchCut, ...]
    elements: int | None
    unit: str
    steps: int
    examples: int | None
    eval_rows: int | None
    eval_batches: int | None
    eval_filled: int | None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sketch:
    """A learning rate over the run.

    Attributes:
      steps: Where it was looked at, evenly from the first step to the last.
      values: What it is there.
    """

    steps: tuple[int, ...]
    values: tuple[float, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pipeline:
    """A stack of layers that is computed in stages.

    Attributes:
      path: The stack's config path.
      stages: How many.
      microbatches: Into how many parts the rows of a forward pass are cut.
      rows: Of one of them.
      repeats: How often a microbatch goes through the stages.
      iterations: How many a batch takes.
      bubble: The share of iterations in which a stage has no microbatch.
    """

    path: str
    stages: int
    microbatches: int
    rows: float
    repeats: int
    iterations: int
    bubble: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class Card:
    """An experiment in numbers.

    Attributes:
      modules: The model's nodes that have parameters, in their order.
      parameters: All of them.
      parameter_bytes: As they are stored, uncut.
      optimizer_bytes: What the optimizer keeps beside them, uncut.
      average_bytes: The average of the parameters that evaluations use, uncut; 0
        without one.
      flops: Model FLOPs of one training step on all devices.
      convention: What is counted in them.
      batch: The algebra of batches.
      pipelines: The stacks of layers that are computed in stages.
      mesh: The size of each mesh axis.
      across: The mesh axes that go across slices, and over how many each does.
      per_device: Bytes of one device.
      schedule: The learning rate; None if the trainer is not told it.
    """

    modules: tuple[ModuleSize, ...]
    parameters: int
    parameter_bytes: int
    optimizer_bytes: int
    average_bytes: int
    flops: int
    convention: str
    batch: Batch
    pipelines: tuple[Pipeline, ...]
    mesh: Mapping[str, int]
    across: Mapping[str, int]
    per_device: Footprint
    schedule: Sketch | None


def card(subject: Subject) -> Card:
    """The card of a config of a `Trainer`.

    Raises:
      UserError: It is no experiment, cannot be built, or its parts do not fit.
    """
    if subject.why_no_experiment is not None:
        raise UserError(f"there is no card: {subject.why_no_experiment}")
    trainer = subject.trainer
    if trainer is None:
        raise subject.build_error or UserError("it cannot be built")
    if subject.mesh is None:
        raise subject.mesh_error or UserError("its mesh has no sizes")
    if subject.shapes is None:
        raise subject.shapes_error or UserError("its model cannot be initialised")
    found = subject.trace
    if found.step is None:
        raise UserError(
            "there is no card: its step cannot be traced",
            "  fdlkit check tells why",
        )
    mesh = dict(subject.mesh.shape)
    _, rules = layouts.rule_faults(trainer.rules, MESH_AXES)
    shapes = subject.shapes
    params = jax.tree.leaves(shapes.state.params)
    return Card(
        modules=tuple(_modules(subject, shapes)),
        parameters=sum(math.prod(a.shape) for a in params),
        parameter_bytes=_bytes(shapes.state.params),
        optimizer_bytes=_bytes(shapes.state.opt_state),
        average_bytes=_bytes(shapes.state.ema),
        flops=3 * count_flops(forward_program(trainer, shapes, subject.mesh)),
        convention=FLOPS_CONVENTION,
        batch=_batch(subject, shapes, found, rules, mesh),
        pipelines=tuple(_pipelines(trainer)),
        mesh=mesh,
        across=subject.across,
        per_device=footprint.footprint(shapes, found.step, rules=rules, mesh=mesh),
        schedule=_sketch(trainer),
    )


def _bytes(tree: Any) -> int:
    return sum(math.prod(a.shape) * a.dtype.itemsize for a in jax.tree.leaves(tree))


def _pipelines(trainer: Trainer) -> Iterator[Pipeline]:
    model, rows = trainer.model, trainer.train_data.batch_size / trainer.microbatches
    found = submodules(model, "model") if isinstance(model, nn.Module) else ()
    for path, module in found:
        if isinstance(module, Repeat) and module.pipeline is not None:
            yield Pipeline(
                path=path,
                stages=module.pipeline.num_stages,
                microbatches=module.pipeline.num_microbatches,
                rows=rows / module.pipeline.num_microbatches,
                repeats=module.pipeline.num_repeats,
                iterations=module.pipeline.num_iterations,
                bubble=module.pipeline.bubble,
            )


def _modules(subject: Subject, shapes: Shapes) -> list[ModuleSize]:
    sizes: dict[str, tuple[int, int]] = {}
    dtypes = {
        f"params/{tree_path(path)}": leaf.dtype
        for path, leaf in jax.tree_util.tree_leaves_with_path(shapes.state.params)
    }
    for array in trace.parameters(shapes):
        if array.path not in dtypes:
            continue  # no parameter: a running mean
        path = paths.format(module_paths.place_of(subject, array.module))
        count = math.prod(array.shape)
        before = sizes.get(path, (0, 0))
        held = count * dtypes[array.path].itemsize
        sizes[path] = (before[0] + count, before[1] + held)
    return [
        ModuleSize(path=path, parameters=count, bytes=held)
        for path, (count, held) in sizes.items()
    ]


def forward_program(trainer: Trainer, shapes: Shapes, mesh: Any) -> Any:
    """The jaxpr of model and loss on a training batch, without dropout."""

    def losses(
        variables: Mapping[str, Any], batch: Mapping[str, Any], step: Any
    ) -> Any:
        context, _ = forward(
            as_model(trainer.model),
            trainer.losses,
            trainer.inputs,
            variables=variables,
            batch=batch,
            step=step,
            rngs={},
            capture=wanted_interms(trainer.losses),
        )
        return context["losses"]

    state = shapes.state
    variables = {"params": state.params, **state.model_state}
    with using(mesh, trainer.rules):
        return jax.make_jaxpr(losses)(variables, shapes.batch, step_spec())


def _batch(
    subject: Subject,
    shapes: Shapes,
    found: trace.Trace,
    rules: AxisRules,
    mesh: Mapping[str, int],
) -> Batch:
    trainer = subject.trainer
    assert trainer is not None
    rows = trainer.train_data.batch_size
    over = batches.axes(rules)
    time = layouts.dim_axes(layouts.NamedArray("", (1,), ("time",), ()), rules)[0]
    kinds = {**dict.fromkeys(time, "time"), **dict.fromkeys(over, "rows")}
    first = next(iter(found.losses.values()), None)
    evaluation = trainer.eval_data
    seen = count = filled = None
    if evaluation is not None and evaluation.num_epochs is not None:
        count = _opened(lambda: evaluation.num_batches)
        total = _opened(lambda: evaluation.num_examples)
        if count is not None and total is not None:
            total *= evaluation.num_epochs
            seen = min(total, count * evaluation.batch_size)
            filled = count * evaluation.batch_size - seen
    return Batch(
        rows=rows,
        rows_per_device=rows / layouts.parts_of(over, mesh),
        microbatches=trainer.microbatches,
        arrays={
            name: f"{array.dtype}{list(array.shape)}"
            for name, array in shapes.batch.items()
        },
        cuts=tuple(
            BatchCut(axis=axis, size=size, cuts=kinds.get(axis))
            for axis, size in mesh.items()
            if size > 1
        ),
        elements=None if first is None else math.prod(first.shape),
        unit=next(iter(trainer.losses.values())).unit,
        steps=trainer.num_train_steps,
        examples=_opened(lambda: trainer.train_data.num_examples),
        eval_rows=seen,
        eval_batches=count,
        eval_filled=filled,
    )


def _opened(read: Callable[[], int | None]) -> int | None:
    """What the data says of itself; None where it is not on this machine."""
    try:
        return read()
    except UserError:
        return None


def _sketch(trainer: Trainer) -> Sketch | None:
    """The learning rate along the run, computed on the host."""
    rate, last = trainer.learning_rate, trainer.num_train_steps - 1
    if rate is None:
        return None
    steps = sorted({round(x) for x in np.linspace(0, last, POINTS)})
    if not callable(rate):
        return Sketch(steps=(0, last), values=(float(rate),) * 2)
    with jax.default_device(jax.local_devices(backend="cpu")[0]):
        values = [float(rate(jnp.int32(step))) for step in steps]
    return Sketch(steps=tuple(steps), values=tuple(values))


def peak_of(sketch: Sketch) -> tuple[int, float]:
    """The step with the highest learning rate, and the rate."""
    at = max(range(len(sketch.steps)), key=lambda i: sketch.values[i])
    return sketch.steps[at], sketch.values[at]
