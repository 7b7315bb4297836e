"""The trainer: an experiment's parts in one frozen dataclass."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import optax
from etils import epath

from fdlkit.data.pipeline import Pipeline
from fdlkit.errors import UserError
from fdlkit.sharding.layout import DEFAULT_RULES, AxisRules
from fdlkit.sharding.mesh import Mesh
from fdlkit.train.checkpoints import CheckpointPolicy
from fdlkit.train.feed import Feed
from fdlkit.train.loop import Plan, Result, check_data, train_loop
from fdlkit.train.losses import CrossEntropy, Loss
from fdlkit.train.metrics import MeanLoss, Metric
from fdlkit.train.models import as_model
from fdlkit.train.progress import NoProgress, Progress
from fdlkit.train.setup import Setup, Shapes, prepare, trace_shapes, using
from fdlkit.train.state import TrainState
from fdlkit.train.step import REPORT, Batch, Schedule, logged, make_train_step
from fdlkit.train.stop import Stop
from fdlkit.train.writers import Writer


def token_inputs() -> dict[str, str]:
    """The inputs of a language model."""
    return {"tokens": "batch.tokens"}


def mean_loss() -> dict[str, Metric]:
    """The metrics that every experiment has: its loss."""
    return {"loss": MeanLoss()}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Trainer:
    """Trains a model on batches; stops and goes on to the same bits.

    In a notebook:

        state = trainer.init_state()
        state, report = trainer.step(state, batch)

    As a run, with checkpoints and logs in a folder:

        trainer.train("runs/first")

    Attributes:
      model: A Flax Linen module, or a `fdlkit.train.models.Model`.
      train_data: Global training batches.
      optimizer: An Optax transformation.
      num_train_steps: How many updates the run makes.
      loss: Per-element values from the step's context.
      inputs: The model's arguments by name, and where in the batch they are.
      eval_data: Held-out batches; None: no evaluation.
      metrics: What an evaluation reports, by name.
      learning_rate: What the optimizer was given as its own, a schedule or a number,
        to be logged; None: it is not logged. A config makes it follow the optimizer:
        `learning_rate=ref("optimizer.learning_rate")`.
      mesh: The device mesh.
      rules: What mesh axes a logical axis is cut over.
      log_every: Steps between log points; what is logged is a mean over them.
      eval_every: Steps between evaluations; None: only after the last step.
      checkpoints: When they are saved, and how many stay.
      writers: Where numbers go beside `metrics.jsonl`.
      seed: Of the initial values and of dropout; data has its own.
      allowed: Findings of `fdlkit check` that are meant, as `CODE path`, each with the
        reason; the trainer itself does not look at it.
    """

    model: Any
    train_data: Pipeline
    optimizer: optax.GradientTransformation
    num_train_steps: int
    loss: Loss = CrossEntropy()
    inputs: Mapping[str, str] = dataclasses.field(default_factory=token_inputs)
    eval_data: Pipeline | None = None
    metrics: Mapping[str, Metric] = dataclasses.field(default_factory=mean_loss)
    learning_rate: Schedule | float | None = None
    mesh: Mesh = Mesh()
    rules: AxisRules = DEFAULT_RULES
    log_every: int = 100
    eval_every: int | None = None
    checkpoints: CheckpointPolicy = CheckpointPolicy()
    writers: Sequence[Writer] = ()
    seed: int = 0
    allowed: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        counts = {
            "num_train_steps": self.num_train_steps,
            "log_every": self.log_every,
            "eval_every": 1 if self.eval_every is None else self.eval_every,
            "checkpoints.every": self.checkpoints.every,
        }
        for name, value in counts.items():
            if value < 1:
                raise ValueError(f"{name}={value}: it counts steps, so at least 1")

    @functools.cached_property
    def setup(self) -> Setup:
        """Shapes, layout and functions of the run on the devices that are there.

        Raises:
          UserError: See `prepare`.
        """
        return self.setup_on(self.mesh.make())

    def setup_on(self, mesh: Any) -> Setup:
        """The same for a given `jax.sharding.Mesh` or `AbstractMesh`."""
        return prepare(
            as_model(self.model),
            self.loss,
            self.optimizer,
            mesh=mesh,
            rules=self.rules,
            inputs=self.inputs,
            train_data=self.train_data,
            eval_data=self.eval_data,
            metrics=self.metrics,
            learning_rate=self.learning_rate,
            num_train_steps=self.num_train_steps,
            log_every=self.log_every,
            seed=self.seed,
            shapes_on=self.shapes,
        )

    def shapes(self, mesh: Any = None) -> Shapes:
        """The shapes of the run's arrays, traced on no device, once for each mesh.

        Args:
          mesh: A mesh, which may be abstract, to trace on; None: without mesh and
            rules, which need not fit then.

        Raises:
          UserError: See `trace_shapes`.
        """
        key = mesh.abstract_mesh if isinstance(mesh, jax.sharding.Mesh) else mesh
        if key not in self._traced:
            around = (
                contextlib.nullcontext() if key is None else using(mesh, self.rules)
            )
            with around:
                self._traced[key] = trace_shapes(
                    as_model(self.model),
                    self.optimizer,
                    inputs=self.inputs,
                    train_data=self.train_data,
                    eval_data=self.eval_data,
                    seed=self.seed,
                )
        return self._traced[key]

    @functools.cached_property
    def _traced(self) -> dict[Any, Shapes]:
        """Shapes by the abstract mesh that they were traced on."""
        return {}

    def init_state(self) -> TrainState:
        """The state before step 1, laid out over the mesh."""
        return self.setup.init_state()

    def step(
        self, state: TrainState, batch: Batch
    ) -> tuple[TrainState, dict[str, jax.Array]]:
        """One update; the given state is donated.

        Args:
          state: From `init_state` or the last call.
          batch: A global batch, `[batch, ...]` each; NumPy arrays will do.

        Returns:
          The next state, and this step's `loss`, `grad_norm`, `learning_rate` (where
          the trainer is told the schedule) and `param_norm`, [] float32.

        Raises:
          UserError: The batch has other entries or shapes than `train_data` gives.
        """
        setup = self.setup
        wanted = {name: a.shape[1:] for name, a in setup.batch.items()}
        if {name: a.shape[1:] for name, a in batch.items()} != wanted:
            raise UserError(
                "this batch is not like those of train_data",
                f"it has {', '.join(batch) or 'nothing'}; wanted: "
                + ", ".join(f"{n} [batch, {str(s)[1:-1]}]" for n, s in wanted.items()),
            )
        batch_size = next(iter(batch.values())).shape[0]
        placed = Feed(batch_size, setup.batch_sharding).place(batch)
        with using(setup.mesh, setup.rules):
            state, report = self._jitted_step(state, placed)
        named = dict(zip(REPORT, report, strict=True))
        return state, {name: named[name] for name in logged(self.learning_rate)}

    @functools.cached_property
    def _jitted_step(self) -> Any:
        setup = self.setup
        step = make_train_step(
            as_model(self.model),
            self.loss,
            self.optimizer,
            inputs=self.inputs,
            learning_rate=self.learning_rate,
            # A window of one step: its means are the step's own values.
            log_every=1,
            num_train_steps=self.num_train_steps,
            seed=self.seed,
        )
        return jax.jit(
            step,
            donate_argnums=0,
            in_shardings=(setup.shardings, setup.batch_sharding),
            out_shardings=(setup.shardings, setup.replicated),
        )

    @property
    def _plan(self) -> Plan:
        return Plan(
            train_data=self.train_data,
            eval_data=self.eval_data,
            metrics=tuple(self.metrics),
            num_train_steps=self.num_train_steps,
            log_every=self.log_every,
            eval_every=self.eval_every,
            checkpoints=self.checkpoints,
            writers=self.writers,
            unit=self.loss.unit,
            logged=logged(self.learning_rate),
        )

    def check(self) -> None:
        """Refuses what can be refused before anything compiles or is written.

        Raises:
          UserError: See `prepare`; or data that is missing or ends too early.
        """
        _ = self.setup
        if not self.metrics and self.eval_data is not None:
            raise UserError("eval_data is given, but metrics is empty")
        check_data(self._plan)

    def train(
        self,
        workdir: str | epath.Path,
        record: Mapping[str, str] | None = None,
        *,
        stop: Stop | None = None,
        progress: Progress | None = None,
    ) -> Result:
        """Runs, or goes on with the run in `workdir`, to `num_train_steps`.

        Args:
          workdir: Holds `checkpoints`, `metrics.jsonl` and `record`.
          record: Texts by file name that are kept with the run.
          stop: Looked at before every step.
          progress: Is told how it goes.

        Returns:
          The step reached, and whether it was the last.

        Raises:
          UserError: The run cannot begin; nothing was compiled or changed.
          RunFailedError: A loss or gradient was not finite.
        """
        self.check()
        return train_loop(
            self._plan,
            self.setup,
            workdir=epath.Path(workdir),
            record=record or {},
            stop=stop or Stop(),
            progress=progress or NoProgress(),
        )
