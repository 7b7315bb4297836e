"""One abstract trace of a run, for every level to read.

The functions are those that the trainer compiles (`initial_state`, `make_train_step`,
`make_eval_step`); they are traced under the abstract mesh and the rules, part by part,
so that one fault does not hide those of the others.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import flax.linen as nn
import jax
import optax
from jax.sharding import PartitionSpec

from fdlkit.check import mending
from fdlkit.check.layouts import NamedArray, rule_faults
from fdlkit.check.watching import Watch
from fdlkit.errors import UserError
from fdlkit.keys import DeadKeyError, get_key
from fdlkit.sharding.layout import mesh_spec, tree_path
from fdlkit.sharding.mesh import MESH_AXES
from fdlkit.train.context import (
    dead_keys,
    forward,
    step_spec,
    wanted_interms,
    wanted_parts,
)
from fdlkit.train.decode import GenerateText
from fdlkit.train.evaluators import AnyEvaluator, Evaluator
from fdlkit.train.kinds import held_to_kinds, refuse_other_values
from fdlkit.train.losses import Context, Elements, Loss
from fdlkit.train.models import as_model
from fdlkit.train.refusals import (
    refuse_other_factor,
    refuse_other_part,
    refuse_other_weight,
)
from fdlkit.train.setup import Shapes, check_microbatches, using
from fdlkit.train.states import Packed
from fdlkit.train.step import make_eval_step, make_train_step, measuring

if TYPE_CHECKING:
    from jax.sharding import AbstractMesh

    from fdlkit.train.trainer import Trainer
    from fdlkit.train.update import UpdateRules


# Key paths of a loss and of metrics that are guessed, one after another.
_MOST_GUESSES = 6


@dataclasses.dataclass(frozen=True, kw_only=True)
class Trace:
    """What a run's functions do to shapes.

    Attributes:
      watch: The constraints, disagreements and failures that were met.
      shapes: Of the run's arrays; None if the model cannot be initialised.
      losses: The shape of the values of each loss, by name, on a training batch; as far
        as they were reached.
      preds: The shapes of its predictions; None if they were not reached.
      step: The jaxpr of a training step of `(state, batch)`; None if it failed.
      next_state: What it makes of the state's shapes; None if it failed.
      eval_step: The jaxpr of an evaluation step; None if it failed or there is none.
      dead_keys: Key paths that lead nowhere, by the config path of the field.
      train_states: The shapes of the states of `train_metrics`; None: there are none.
      eval_states: Those that each evaluator computes, by its name, as far as they were
        reached.
    """

    watch: Watch
    shapes: Shapes | None
    losses: Mapping[str, Any]
    preds: Any
    step: Any
    next_state: Any
    eval_step: Any
    dead_keys: tuple[tuple[str, DeadKeyError], ...]
    train_states: Packed | None = None
    eval_states: Mapping[str, Packed] = dataclasses.field(default_factory=dict)


def trace(trainer: Trainer, shapes: Shapes | None, mesh: AbstractMesh | None) -> Trace:
    """Traces a training step and an evaluation step.

    Args:
      trainer: The experiment.
      shapes: Of its arrays; None if the model cannot be initialised.
      mesh: To trace under; None: without a mesh and rules.
    """
    watch = Watch()
    if shapes is None:
        return Trace(
            watch=watch,
            shapes=None,
            losses={},
            preds=None,
            step=None,
            next_state=None,
            eval_step=None,
            dead_keys=(),
        )
    parts = _Parts(trainer, watch, shapes)
    wrong, _ = rule_faults(trainer.rules, MESH_AXES)
    around: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
    if mesh is not None and not wrong:
        around = using(mesh, trainer.rules)
    with around, watch.watching():
        # What a person knows are the shapes of the whole batch.
        whole = dataclasses.replace(trainer.update_rules, microbatches=1)
        made = watch.attempt("train_step", lambda: _train_step(parts, shapes, whole))
        if made and trainer.microbatches > 1 and _divides(trainer, mesh):
            rules = trainer.update_rules
            made = watch.attempt(
                "train_step", lambda: _train_step(parts, shapes, rules)
            )
        step, (next_state, _, measured) = made or (None, (None, None, None))
        eval_step = None
        states: dict[str, Packed | None] = {}
        if shapes.eval_batch is not None and trainer.metrics and made is not None:
            found = watch.attempt("eval_step", lambda: _eval_step(parts, shapes))
            eval_step, packed = found or (None, None)
            states = dict.fromkeys(trainer.all_evaluators, packed)
        if made is not None:
            for name in trainer.evaluators:
                if _has_own_step(trainer.evaluators[name]):
                    states[name] = _trace_evaluator(parts, name)
    return Trace(
        watch=watch,
        shapes=shapes,
        losses=parts.values,
        preds=parts.preds,
        step=step,
        next_state=next_state,
        eval_step=eval_step,
        dead_keys=tuple(parts.dead.items())
        or tuple(_raised(watch, _own_fields(trainer))),
        train_states=measured,
        eval_states={name: one for name, one in states.items() if one is not None},
    )


def _raised(
    watch: Watch, fields: Mapping[str, set[str]]
) -> Iterator[tuple[str, DeadKeyError]]:
    """Key paths that parts looked up by themselves, in no field."""
    for failure in watch.failures:
        if not isinstance(failure.error, DeadKeyError):
            continue
        path, wanted_by = failure.part, failure.error.wanted_by
        if path.startswith("evaluators["):
            # Of what it inherits, the place is the trainer's.
            own = path in fields and wanted_by.partition(".")[0] in fields[path]
            path = f"{path}.{wanted_by}" if own else wanted_by
        yield path, failure.error


def _own_fields(trainer: Trainer) -> dict[str, set[str]]:
    """What each evaluator gives itself, by its place in the trainer."""
    return {
        f"evaluators[{name!r}]": {
            field.name
            for field in dataclasses.fields(evaluator)
            if getattr(evaluator, field.name) is not None
        }
        for name, evaluator in trainer.evaluators.items()
        if isinstance(evaluator, AnyEvaluator)
    }


class _Parts:
    """The parts of an experiment, each telling the watch when it runs.

    Attributes:
      values: The shape of the values of each loss of the first batch that was traced.
      preds: The shapes of its predictions.
      dead: Key paths of losses and metrics that lead nowhere, by their config paths.
    """

    def __init__(self, trainer: Trainer, watch: Watch, shapes: Shapes):
        self.trainer = trainer
        self.watch = watch
        self.shapes = shapes
        self.model = as_model(trainer.model)
        self.values: dict[str, Any] = {}
        self.preds: Any = None
        self.dead: dict[str, DeadKeyError] = {}

    def losses(self) -> dict[str, Any]:
        """The losses, each of which tells the watch; the first looks up all keys."""
        return {
            name: functools.partial(self._loss, name) for name in self.trainer.losses
        }

    def _loss(self, name: str, context: Context, *, where: str) -> Any:
        path = name_of_loss(self.trainer, name)
        if self.preds is None:
            self.preds = jax.tree.map(_shape, context["preds"])
            self._look_up(context)
        with self.watch.part(path):
            loss = self.trainer.losses[name]
            refuse_other_part(path, loss, Loss)
            refuse_other_weight(f"{path}.weight", loss.weight)
            try:
                found = loss(context, where=path)
            except AttributeError as error:
                refuse_other_values(loss, error, path)
                raise
            refuse_other_factor(f"{path}.weight", found.factor)
        self.values.setdefault(name, _shape(found.values))
        return found

    def _look_up(self, context: Context) -> None:
        """Looks at every key path as soon as the model has run."""
        trainer = self.trainer
        # What a metric may read of a loss, whatever that comes to.
        nothing: Any = None
        elements = dict.fromkeys(trainer.losses, Elements(nothing, nothing, nothing))
        after = {**context, "losses": elements}
        params = context["params"]
        parts: list[tuple[Any, str, Context]] = [
            (loss, name_of_loss(trainer, name), context)
            for name, loss in trainer.losses.items()
        ]
        everything = {**after, "grads": params, "updates": params}
        parts.append((trainer.train_metrics, "train_metrics", everything))
        if self.shapes.eval_batch is not None:
            at_evaluation = {**after, "batch": self.shapes.eval_batch}
            parts += [(part, path, at_evaluation) for part, path, _ in parts[:-1]]
            parts.append((trainer.metrics, "metrics", at_evaluation))
        for part, path, there in parts:
            for error in dead_keys(part, path, there):
                if error.key.startswith("interms"):
                    error = self._among_all(error, there)
                self.dead.setdefault(error.wanted_by, error)

    def _among_all(self, error: DeadKeyError, context: Context) -> DeadKeyError:
        """The error for a dead key, told of all intermediates that there are."""
        trainer, state = self.trainer, self.shapes.state

        def captured(variables: Any, batch: Any, step: Any) -> Any:
            found, _ = forward(
                self.model,
                {},
                trainer.inputs,
                variables=variables,
                batch=batch,
                step=step,
                rngs={},
                capture=[()],
            )
            return found["interms"]

        variables = {"params": state.params, **state.model_state}
        interms = jax.eval_shape(captured, variables, self.shapes.batch, step_spec())
        try:
            get_key(
                {**context, "interms": interms}, error.key, wanted_by=error.wanted_by
            )
        except DeadKeyError as better:
            return better
        return error

    def optimizer(self) -> optax.GradientTransformation:
        """The optimizer, telling the watch."""
        given = self.trainer.optimizer
        return given._replace(update=self.watch.wrapped("optimizer", given.update))

    def schedules(self) -> dict[str, Any]:
        """What follows the step, telling the watch."""
        own = {"learning_rate": "learning_rate"} | {
            f"schedules/{name}": f"schedules[{name!r}]"
            for name in self.trainer.schedules
        }
        return {
            name: self.watch.wrapped(own[name], rate) if callable(rate) else rate
            for name, rate in self.trainer.all_schedules.items()
        }

    def metrics(self, where: str) -> dict[str, Any]:
        """The metrics of a field of the trainer, telling the watch."""
        return {
            name: self.watch.wrapped(f"{where}[{name!r}]", held_to_kinds(metric))
            for name, metric in getattr(self.trainer, where).items()
        }


def name_of_loss(trainer: Trainer, name: str) -> str:
    """The config path of a loss."""
    return f"loss[{name!r}]" if isinstance(trainer.loss, Mapping) else "loss"


def _shape(x: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


def _divides(trainer: Trainer, mesh: AbstractMesh | None) -> bool:
    """Whether microbatches are of equal rows; else that is told of the batch."""
    spec = PartitionSpec() if mesh is None else mesh_spec(("batch",), trainer.rules)
    rows = trainer.train_data.batch_size
    try:
        check_microbatches(trainer.microbatches, rows, spec, mesh=mesh)
    except UserError:
        return False
    return True


def _train_step(parts: _Parts, shapes: Shapes, rules: UpdateRules) -> Any:
    trainer = parts.trainer
    step = make_train_step(
        parts.model,
        parts.losses(),
        parts.optimizer(),
        inputs=trainer.inputs,
        schedules=parts.schedules(),
        log_every=trainer.log_every,
        num_train_steps=trainer.num_train_steps,
        seed=trainer.seed,
        rules=rules,
        capture=wanted_interms(trainer.losses, trainer.train_metrics),
        measure=measuring(parts.metrics("train_metrics")),
        measured_parts=wanted_parts(trainer.train_metrics),
    )
    return jax.make_jaxpr(step, return_shape=True)(shapes.state, shapes.batch)


def _eval_step(parts: _Parts, shapes: Shapes) -> Any:
    trainer = parts.trainer
    step = make_eval_step(
        parts.model,
        parts.losses(),
        inputs=trainer.inputs,
        metrics=parts.metrics("metrics"),
        capture=wanted_interms(trainer.losses, trainer.metrics),
    )
    state = shapes.state
    return jax.make_jaxpr(step, return_shape=True)(
        state.eval_params, state.model_state, shapes.eval_batch, step_spec()
    )


def _has_own_step(evaluator: Any) -> bool:
    """Whether it does something else than the trainer's evaluation."""
    return not isinstance(evaluator, Evaluator) or evaluator.has_own


def _trace_evaluator(parts: _Parts, name: str) -> Packed | None:
    """Traces the step of an evaluator that has something of its own.

    Returns:
      The shapes of its metrics' states; None: it has none, or they were not reached.
    """
    trainer, state, watch = parts.trainer, parts.shapes.state, parts.watch
    evaluator, path = trainer.evaluators[name], f"evaluators[{name!r}]"
    if isinstance(evaluator, GenerateText):
        variables = {"params": state.eval_params, **state.model_state}
        watch.attempt(path, lambda: evaluator.language(name, trainer.given, variables))
    if not isinstance(evaluator, Evaluator):
        return None
    try:
        measured = evaluator.measured(name, trainer.given)
    except UserError:
        return None  # of its data, which the axes level opens
    if measured is None:
        return None  # it has no data, which the config level tells
    metrics: dict[str, Any] = dict(measured.metrics)
    if measured.where.startswith(path):
        metrics = {
            key: watch.wrapped(f"{measured.where}[{key!r}]", held_to_kinds(metric))
            for key, metric in metrics.items()
        }
    step = make_eval_step(
        as_model(measured.model),
        measured.losses,
        inputs=measured.inputs,
        metrics=metrics,
        capture=wanted_interms(measured.losses, measured.metrics),
        where=measured.where,
    )
    made = watch.attempt(
        path,
        lambda: jax.make_jaxpr(step, return_shape=True)(
            state.params if measured.live else state.eval_params,
            state.model_state,
            measured.batch,
            step_spec(),
        ),
    )
    return None if made is None else made[1]


def parameters(shapes: Shapes) -> list[NamedArray]:
    """The variables of a model with the logical names of their dims."""
    is_box = lambda x: isinstance(x, nn.Partitioned)  # noqa: E731
    found = []
    leaves = jax.tree_util.tree_leaves_with_path(dict(shapes.variables), is_leaf=is_box)
    for path, leaf in leaves:
        value = leaf.value if is_box(leaf) else leaf
        names = tuple(leaf.names) if is_box(leaf) else None
        text = tree_path(path)
        module = tuple(text.split("/")[1:-1])
        found.append(NamedArray(text, tuple(value.shape), names, module))
    return found


def trace_of(
    trainer: Trainer, shapes: Shapes | None, mesh: AbstractMesh | None
) -> Trace:
    """The trace of an experiment, on shapes that were traced before.

    Key paths that lead nowhere are taken for what was likely meant, where there is a
    guess, so that what comes after them is looked at too.
    """
    dead: list[tuple[str, DeadKeyError]] = []
    trainer = _with_inputs(trainer, dead)
    watch = Watch()
    if shapes is None:
        # The first trace was for whoever needs shapes alone; this one is watched.
        with watch.watching():
            shapes = watch.attempt("model", trainer.shapes)
    found = trace(trainer, shapes, mesh)
    for _ in range(_MOST_GUESSES):
        if not found.dead_keys:
            break
        dead.extend(found.dead_keys)
        mended = mending.with_keys(trainer, dict(found.dead_keys))
        if mended is None:
            break
        trainer = mended
        found = trace(trainer, shapes, mesh)
    found.watch.failures[:0] = watch.failures
    return dataclasses.replace(found, dead_keys=tuple(dead))


def _with_inputs(trainer: Trainer, dead: list[tuple[str, DeadKeyError]]) -> Trainer:
    """The trainer with inputs that lead somewhere, as far as that can be guessed."""
    try:
        batch = trainer.train_data.spec()
    except UserError:
        return trainer
    inputs = dict(trainer.inputs)
    for name, key in trainer.inputs.items():
        try:
            get_key(
                {"batch": batch, "step": step_spec()}, key, wanted_by=f"inputs.{name}"
            )
        except DeadKeyError as error:
            dead.append((f"inputs[{name!r}]", error))
            if error.meant is not None:
                inputs[name] = error.meant
    if inputs == dict(trainer.inputs):
        return trainer
    return dataclasses.replace(trainer, inputs=inputs)
