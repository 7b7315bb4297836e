"""The trainer: an experiment's parts in one frozen dataclass, and the loop."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import time
from collections.abc import Iterator, Mapping
from typing import Any

import flax.linen as nn
import jax
import numpy as np
import optax
from etils import epath
from jax.sharding import NamedSharding, PartitionSpec

from fdlkit.data.pipeline import Pipeline, derived_seed
from fdlkit.eject.train.checkpoints import Checkpoints
from fdlkit.eject.train.metrics_file import MetricsFile
from fdlkit.errors import RunFailedError
from fdlkit.sharding.layout import (
    DEFAULT_RULES,
    AxisRules,
    like_parameters,
    mesh_spec,
    named,
    spec_tree,
)
from fdlkit.sharding.mesh import Mesh
from fdlkit.train.checkpoints import CheckpointPolicy
from fdlkit.train.context import (
    model_inputs,
    named_losses,
    step_spec,
    wanted_interms,
    wanted_parts,
)
from fdlkit.train.losses import CrossEntropy, Loss
from fdlkit.train.metrics import Metric
from fdlkit.train.models import LinenModel
from fdlkit.train.progress import LineProgress
from fdlkit.train.state import TrainState
from fdlkit.train.states import merge_states, results
from fdlkit.train.step import (
    Schedule,
    initial_state,
    logged,
    make_eval_step,
    make_train_step,
    measuring,
    report_names,
)
from fdlkit.train.stop import Stop
from fdlkit.train.trainer import mean_loss, token_inputs
from fdlkit.train.update import UpdateRules, lay_out_updates, remarks, update_reports


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
        losses = trainer.losses

        def variables_of(inputs: Any) -> Any:
            return model.init(jax.random.key(trainer.seed), inputs)

        def init(inputs: Any) -> TrainState:
            return initial_state(
                variables_of(inputs),
                trainer.optimizer,
                tuple(losses),
                trainer.update_rules,
            )

        self._init = init
        self._train_step = make_train_step(
            model,
            losses,
            trainer.optimizer,
            inputs=trainer.inputs,
            schedules=trainer.all_schedules,
            log_every=trainer.log_every,
            num_train_steps=trainer.num_train_steps,
            seed=trainer.seed,
            rules=trainer.update_rules,
            capture=wanted_interms(losses, trainer.train_metrics),
            measure=(
                measuring(trainer.train_metrics) if trainer.train_metrics else None
            ),
            measured_parts=wanted_parts(trainer.train_metrics),
        )
        self._eval_step = make_eval_step(
            model,
            losses,
            inputs=trainer.inputs,
            metrics=trainer.metrics,
            capture=wanted_interms(losses, trainer.metrics),
        )
        self._batch = abstract_batch(trainer.train_data)
        context = {"batch": self._batch, "step": step_spec()}
        self._inputs = model_inputs(trainer.inputs, context)
        with self._around():
            boxed = dict(jax.eval_shape(variables_of, self._inputs))
            self.state = jax.eval_shape(self._init, self._inputs)
        specs = spec_tree(boxed, self._rules)
        params = specs.pop("params", {})
        layout = TrainState(
            step=PartitionSpec(),
            params=params,
            model_state=specs,
            opt_state=like_parameters(self.state.opt_state, self.state.params, params),
            window=PartitionSpec(),
            **lay_out_updates(self.state, params),
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
                out_shardings=(self.shardings, self._replicated, self._replicated),
            ).lower(self.state, self._batch, None)

    def lower_eval_step(self) -> Any:
        """The lowered evaluation step."""
        assert self._trainer.eval_data is not None
        with self._around():
            return jax.jit(
                self._eval_step,
                in_shardings=(
                    self.shardings.eval_params,
                    self.shardings.model_state,
                    self.batch_sharding,
                    self._replicated,
                ),
                out_shardings=self._replicated,
            ).lower(
                self.state.eval_params,
                self.state.model_state,
                abstract_batch(self._trainer.eval_data),
                step_spec(),
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


@dataclasses.dataclass(frozen=True, kw_only=True)
class Result:
    """How a run ended: at which step, and whether that is the last."""

    step: int
    finished: bool


@dataclasses.dataclass(frozen=True, kw_only=True)
class Trainer:
    """Trains a model on batches; stops and goes on to the same bits.

    Attributes:
      model: A Flax Linen module.
      train_data: Training batches.
      optimizer: An Optax transformation.
      num_train_steps: How many updates the run makes.
      loss: What is minimized: a loss, or several by name, summed.
      inputs: The model's arguments by name, and where in the batch they are.
      eval_data: Held-out batches; None: no evaluation.
      metrics: What an evaluation reports, by name.
      train_metrics: What a log point reports of its own batch, by name.
      learning_rate: What the optimizer was given as its own, to be logged.
      schedules: Other values that follow the step, to be logged.
      microbatches: In how many parts a step computes its gradient.
      ema: An average of the parameters, to be evaluated.
      loss_scale: What the loss is multiplied by while it is differentiated.
      skip_nonfinite: What is done about steps that are not finite.
      mesh: The device mesh.
      rules: What mesh axes a logical axis is cut over.
      log_every: Steps between log points; what is logged is a mean over them.
      eval_every: Steps between evaluations; None: only after the last step.
      checkpoints: When checkpoints are saved and how many stay.
      seed: Of initial values and dropout.
    """

    model: Any
    train_data: Pipeline
    optimizer: optax.GradientTransformation
    num_train_steps: int
    loss: Loss | Mapping[str, Loss] = CrossEntropy()
    inputs: Mapping[str, str] = dataclasses.field(default_factory=token_inputs)
    eval_data: Pipeline | None = None
    metrics: Mapping[str, Metric] = dataclasses.field(default_factory=mean_loss)
    train_metrics: Mapping[str, Metric] = dataclasses.field(default_factory=dict)
    learning_rate: Schedule | float | None = None
    schedules: Mapping[str, Schedule | float] = dataclasses.field(default_factory=dict)
    microbatches: int = 1
    ema: Any = None
    loss_scale: Any = None
    skip_nonfinite: Any = None
    mesh: Mesh = Mesh()
    rules: AxisRules = DEFAULT_RULES
    log_every: int = 100
    eval_every: int | None = None
    checkpoints: CheckpointPolicy = CheckpointPolicy()
    seed: int = 0

    @property
    def losses(self) -> Mapping[str, Loss]:
        """The losses by name; a single one is named `loss`."""
        return named_losses(self.loss)

    @property
    def all_schedules(self) -> dict[str, Schedule | float]:
        """What follows the step and is logged, by the name under which it is."""
        rate = self.learning_rate
        own = {} if rate is None else {"learning_rate": rate}
        return own | {f"schedules/{name}": s for name, s in self.schedules.items()}

    @property
    def update_rules(self) -> UpdateRules:
        """How an update is made, beside the optimizer."""
        return UpdateRules(
            microbatches=self.microbatches,
            ema=self.ema,
            loss_scale=self.loss_scale,
            skip_nonfinite=self.skip_nonfinite,
        )

    @functools.cached_property
    def setup(self) -> Setup:
        """Shapes, layout and functions of the run on the devices that are there."""
        return Setup(self)

    def train(self, workdir: str, *, stop: Stop, progress: LineProgress) -> Result:
        """Runs, or goes on with the run in `workdir`, to `num_train_steps`.

        Raises:
          RunFailedError: A loss or gradient was not finite.
        """
        folder = epath.Path(workdir)
        setup = self.setup
        batches = self.train_data.batches(
            default_seed=derived_seed(self.seed, "train_data")
        )
        with Checkpoints(folder / "checkpoints", self.checkpoints) as checkpoints:
            step = checkpoints.last_step or 0
            if checkpoints.last_step is None:
                state = setup.init_state()
            else:
                state, position = checkpoints.restore(
                    step, like=setup.state, shardings=setup.shardings
                )
                batches.set_state(position)
                progress.say(f"resumed from step {step} in {workdir}")
            metrics = MetricsFile(folder / "metrics.jsonl", step)

            def tell(values: Mapping[str, float]) -> None:
                metrics.write(step, values)
                progress.update(step, values)

            if self._evaluates_at(step) and not metrics.is_evaluated(step):
                tell(self._evaluate(state))
            if step < self.num_train_steps:
                train_step = setup.lower_train_step().compile()
            unit = next(iter(self.losses.values())).unit
            report, began, timed = None, time.perf_counter(), step
            while step < self.num_train_steps and stop.signal is None:
                # The devices are at work on the step before while this is read.
                rows = next(batches, None)
                if rows is None:
                    raise RunFailedError(f"the training data ends after {step} batches")
                batch = jax.device_put(rows, setup.batch_sharding)
                jax.block_until_ready(report)
                made = train_step(state, batch, None)
                state, report = made[:2]
                step += 1
                if step % self.log_every == 0 or step == self.num_train_steps:
                    values = self._checked(step, report)
                    now = time.perf_counter()
                    rate = (step - timed) / (now - began)
                    elements = rate * values["elements"] / values["steps"]
                    names = logged(self.losses, self.all_schedules)
                    names += update_reports(self.update_rules)
                    told = {name: values[name] for name in names}
                    if self.train_metrics:
                        numbers = results(self.train_metrics, made[2].unpack())
                        told |= {f"train/{name}": x for name, x in numbers.items()}
                    tell(told | {"steps_per_sec": rate, f"{unit}_per_sec": elements})
                    began, timed = now, step
                if self._evaluates_at(step):
                    tell(self._evaluate(state))
                    began, timed = time.perf_counter(), step
                if step % self.checkpoints.every == 0:
                    self._checked(step, report)
                    checkpoints.save(state, batches.get_state(), step=step)
            if step != checkpoints.last_step:
                if report is not None:
                    self._checked(step, report)
                checkpoints.save(state, batches.get_state(), step=step)
            metrics.close()
            for remark in remarks(state):
                progress.say(remark)
        return Result(step=step, finished=step >= self.num_train_steps)

    def _checked(self, step: int, report: jax.Array) -> dict[str, float]:
        """A step's report by name; refuses numbers that are not finite."""
        names = report_names(self.losses, self.all_schedules)
        names += update_reports(self.update_rules)
        values = dict(zip(names, np.asarray(report).tolist(), strict=True))
        if values["first_nonfinite"]:
            bad = step - int(values["steps"]) + int(values["first_nonfinite"])
            raise RunFailedError(
                f"the loss or its gradient is not finite at step {bad}",
                "what to try: a lower learning rate, a longer warm-up, clipping",
            )
        return values

    def _evaluates_at(self, step: int) -> bool:
        """Whether the state after this step is evaluated."""
        if self.eval_data is None or step == 0:
            return False
        periodic = self.eval_every is not None and step % self.eval_every == 0
        return periodic or step == self.num_train_steps

    def _evaluate(self, state: TrainState) -> dict[str, float]:
        """Each metric over the whole set."""
        data = self.eval_data
        assert data is not None and data.num_epochs is not None
        totals = None
        seed = derived_seed(self.seed, "eval_data")
        for rows in data.batches(default_seed=seed):
            batch = jax.device_put(rows, self.setup.batch_sharding)
            packed = self._eval_step(
                state.eval_params, state.model_state, batch, state.step
            )
            totals = merge_states(self.metrics, totals, packed.unpack())
        numbers = {} if totals is None else results(self.metrics, totals)
        seen = data.batch_size * (data.num_batches or 0)
        numbers["rows"] = min(seen, data.num_epochs * data.num_examples)
        return {f"eval/{name}": number for name, number in numbers.items()}

    @functools.cached_property
    def _eval_step(self) -> Any:
        return self.setup.lower_eval_step().compile()
