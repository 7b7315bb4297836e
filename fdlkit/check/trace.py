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
from fdlkit.keys import DeadKeyError
from fdlkit.sharding.layout import tree_path
from fdlkit.sharding.mesh import MESH_AXES
from fdlkit.train.models import as_model
from fdlkit.train.setup import Shapes, using
from fdlkit.train.step import make_eval_step, make_train_step

if TYPE_CHECKING:
    from jax.sharding import AbstractMesh

    from fdlkit.train.trainer import Trainer


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


def trace(
    trainer: Trainer, shapes: Shapes | None, mesh: AbstractMesh | None
) -> Trace:
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
        parts.loss,
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
        parts.model, parts.loss, inputs=parts.trainer.inputs, metrics=parts.metrics()
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
