"""One abstract trace of a run, for every level to read.

The functions are those that the trainer compiles (`make_init`, `make_train_step`,
`make_eval_step`); they are traced under the abstract mesh and the rules, part by part,
so that one fault does not hide those of the others.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import flax.linen as nn
import jax
import optax

from fdlkit.check.layouts import NamedArray, rule_faults
from fdlkit.check.watching import Watch
from fdlkit.errors import UserError
from fdlkit.keys import DeadKeyError, get_key
from fdlkit.sharding.layout import tree_path
from fdlkit.sharding.mesh import MESH_AXES
from fdlkit.train.models import as_model
from fdlkit.train.setup import Shapes, using
from fdlkit.train.step import make_eval_step, make_train_step

if TYPE_CHECKING:
    from jax.sharding import AbstractMesh

    from fdlkit.train.trainer import Trainer


# Key paths of a loss and of metrics that are guessed, one after another.
_MOST_GUESSES = 6


@dataclasses.dataclass(frozen=True, kw_only=True)
class Trace:
    """What a run's functions do to shapes.

    Attributes:
      watch: The constraints, disagreements and failures that were met.
      shapes: Of the run's arrays; None if the model cannot be initialised.
      losses: The shape of a training batch's losses; None if they were not reached.
      step: The jaxpr of a training step of `(state, batch)`; None if it failed.
      next_state: What it makes of the state's shapes; None if it failed.
      eval_step: The jaxpr of an evaluation step; None if it failed or there is none.
      dead_keys: Key paths that lead nowhere, by the part that asks.
    """

    watch: Watch
    shapes: Shapes | None
    losses: Any
    preds: Any
    step: Any
    next_state: Any
    eval_step: Any
    dead_keys: tuple[tuple[str, DeadKeyError], ...]


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
            losses=None,
            preds=None,
            step=None,
            next_state=None,
            eval_step=None,
            dead_keys=(),
        )
    parts = _Parts(trainer, watch)
    wrong, _ = rule_faults(trainer.rules, MESH_AXES)
    around: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
    if mesh is not None and not wrong:
        around = using(mesh, trainer.rules)
    with around, watch.watching():
        made = watch.attempt("train_step", lambda: _train_step(parts, shapes))
        step, (next_state, _) = made or (None, (None, None))
        eval_step = None
        if shapes.eval_batch is not None and trainer.metrics and made is not None:
            eval_step = watch.attempt("eval_step", lambda: _eval_step(parts, shapes))
    return Trace(
        watch=watch,
        shapes=shapes,
        losses=parts.losses,
        preds=parts.preds,
        step=step,
        next_state=next_state,
        eval_step=eval_step,
        dead_keys=tuple(
            (failure.part, failure.error)
            for failure in watch.failures
            if isinstance(failure.error, DeadKeyError)
        ),
    )


@dataclasses.dataclass(frozen=True)
class _Loss:
    """A loss that tells the watch when it runs.

    Attributes:
      parts: Whose loss it is.
    """

    parts: _Parts

    @property
    def unit(self) -> str:
        """What an element is."""
        return self.parts.trainer.loss.unit

    def __call__(self, context: Mapping[str, Any]) -> Any:
        return self.parts.loss(context)


class _Parts:
    """The parts of an experiment, each telling the watch when it runs.

    Attributes:
      losses: The shape of the losses of the first batch that was traced.
      preds: The shapes of its predictions.
    """

    def __init__(self, trainer: Trainer, watch: Watch):
        self.trainer = trainer
        self.watch = watch
        self.model = as_model(trainer.model)
        self.losses: Any = None
        self.preds: Any = None

    def loss(self, context: Mapping[str, Any]) -> Any:
        with self.watch.part("loss"):
            values = self.trainer.loss(context)
        if self.losses is None:
            self.losses = jax.tree.map(_shape, values)
            self.preds = jax.tree.map(_shape, context["preds"])
        return values

    def optimizer(self) -> optax.GradientTransformation:
        given = self.trainer.optimizer
        return given._replace(update=self.watch.wrapped("optimizer", given.update))

    def learning_rate(self) -> Any:
        rate = self.trainer.learning_rate
        return self.watch.wrapped("learning_rate", rate) if callable(rate) else rate

    def metrics(self) -> dict[str, Callable[..., Any]]:
        return {
            name: self.watch.wrapped(f"metrics[{name!r}]", metric)
            for name, metric in self.trainer.metrics.items()
        }


def _shape(x: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


def _train_step(parts: _Parts, shapes: Shapes) -> Any:
    trainer = parts.trainer
    step = make_train_step(
        parts.model,
        _Loss(parts),
        parts.optimizer(),
        inputs=trainer.inputs,
        learning_rate=parts.learning_rate(),
        log_every=trainer.log_every,
        num_train_steps=trainer.num_train_steps,
        seed=trainer.seed,
    )
    return jax.make_jaxpr(step, return_shape=True)(shapes.state, shapes.batch)


def _eval_step(parts: _Parts, shapes: Shapes) -> Any:
    step = make_eval_step(
        parts.model, _Loss(parts), inputs=parts.trainer.inputs, metrics=parts.metrics()
    )
    state = shapes.state
    return jax.make_jaxpr(step)(state.params, state.model_state, shapes.eval_batch)


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
        last = next(iter(found.dead_keys), None)
        if last is None:
            break
        dead.append(last)
        mended_trainer = _with_key(trainer, *last)
        if mended_trainer is None:
            break
        trainer = mended_trainer
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
            get_key({"batch": batch}, key, wanted_by=f"inputs.{name}")
        except DeadKeyError as error:
            dead.append((f"inputs[{name!r}]", error))
            if error.meant is not None:
                inputs[name] = error.meant
    if inputs == dict(trainer.inputs):
        return trainer
    return dataclasses.replace(trainer, inputs=inputs)


def _with_key(trainer: Trainer, part: str, error: DeadKeyError) -> Trainer | None:
    """The trainer with the key path that was likely meant; None without a guess."""
    if error.meant is None:
        return None
    if part == "loss":
        loss = _replaced(trainer.loss, error.key, error.meant)
        return None if loss is None else dataclasses.replace(trainer, loss=loss)
    for name, metric in trainer.metrics.items():
        if part == f"metrics[{name!r}]":
            mended = _replaced(metric, error.key, error.meant)
            if mended is not None:
                metrics = {**trainer.metrics, name: mended}
                return dataclasses.replace(trainer, metrics=metrics)
    return None


def _replaced(holder: Any, key: str, meant: str) -> Any:
    """The holder with `meant` in each field that is `key`; None if there is none."""
    if not dataclasses.is_dataclass(holder) or isinstance(holder, type):
        return None
    fields = [f.name for f in dataclasses.fields(holder)]
    wrong = [name for name in fields if getattr(holder, name) == key]
    return dataclasses.replace(holder, **dict.fromkeys(wrong, meant)) if wrong else None
