"""Everything a run derives from its experiment, before anything compiles."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import flax.linen as nn
import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from fdlkit.data.pipeline import Pipeline
from fdlkit.sharding.layout import like_parameters, mesh_spec, named, spec_tree
from fdlkit.train.models import LinenModel
from fdlkit.train.state import TrainState
from fdlkit.train.step import make_eval_step, make_init, make_train_step, model_inputs

if TYPE_CHECKING:
    from fdlkit.eject.train.trainer import Trainer


class Setup:
    """The functions of a run and where their arrays live.

    Attributes:
      state: The training state's shapes.
      shardings: A `NamedSharding` for each of its arrays.
      batch_sharding: The layout of every array of a batch.
    """

    def __init__(self, trainer: Trainer):
        model = (
            LinenModel(trainer.model)
            if isinstance(trainer.model, nn.Module)
            else trainer.model
        )
        self._mesh = trainer.mesh.make()
        self._rules = tuple(trainer.rules)
        self._trainer = trainer
        self._init = make_init(model, trainer.optimizer, trainer.seed)
        self._train_step = make_train_step(
            model,
            trainer.loss,
            trainer.optimizer,
            inputs=trainer.inputs,
            learning_rate=trainer.learning_rate,
            log_every=trainer.log_every,
            num_train_steps=trainer.num_train_steps,
            seed=trainer.seed,
        )
        self._eval_step = make_eval_step(
            model, trainer.loss, inputs=trainer.inputs, metrics=trainer.metrics
        )
        self._batch = abstract_batch(trainer.train_data)
        self._inputs = model_inputs(trainer.inputs, self._batch)
        with self._around():
            rng = jax.random.key(trainer.seed)
            boxed = dict(jax.eval_shape(model.init, rng, self._inputs))
            self.state = jax.eval_shape(self._init, self._inputs)
        specs = spec_tree(boxed, self._rules)
        params = specs.pop("params", {})
        layout = TrainState(
            step=PartitionSpec(),
            params=params,
            model_state=specs,
            opt_state=like_parameters(self.state.opt_state, self.state.params, params),
            window=PartitionSpec(),
        )
        self.shardings = named(layout, self._mesh)
        batch_spec = mesh_spec(("batch",), self._rules)
        self.batch_sharding = NamedSharding(self._mesh, batch_spec)
        self._replicated = NamedSharding(self._mesh, PartitionSpec())

    def init_state(self) -> TrainState:
        """The state before step 1; every array is made where it will live."""
        inputs = jax.tree.map(lambda a: np.zeros(a.shape, a.dtype), self._inputs)
        with self._around():
            return jax.jit(self._init, out_shardings=self.shardings)(inputs)

    def lower_train_step(self) -> Any:
        """The lowered training step; its state argument is donated."""
        with self._around():
            return jax.jit(
                self._train_step,
                donate_argnums=0,
                in_shardings=(self.shardings, self.batch_sharding, None),
                out_shardings=(self.shardings, self._replicated),
            ).lower(self.state, self._batch, None)

    def lower_eval_step(self) -> Any:
        """The lowered evaluation step."""
        assert self._trainer.eval_data is not None
        with self._around():
            return jax.jit(
                self._eval_step,
                in_shardings=(
                    self.shardings.params,
                    self.shardings.model_state,
                    self.batch_sharding,
                ),
                out_shardings=self._replicated,
            ).lower(
                self.state.params,
                self.state.model_state,
                abstract_batch(self._trainer.eval_data),
            )

    @contextlib.contextmanager
    def _around(self) -> Iterator[None]:
        """Traces under the mesh and the logical axis rules."""
        with jax.set_mesh(self._mesh), nn.logical_axis_rules(self._rules):
            yield


def abstract_batch(pipeline: Pipeline) -> Mapping[str, jax.ShapeDtypeStruct]:
    """The shapes of a pipeline's batches."""
    return {
        name: jax.ShapeDtypeStruct(array.shape, array.dtype)
        for name, array in pipeline.spec().items()
    }
