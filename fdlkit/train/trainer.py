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
from fdlkit.keys import get_key
from fdlkit.sharding.layout import DEFAULT_RULES, AxisRules
from fdlkit.sharding.mesh import Mesh, without_devices
from fdlkit.train.checkpoints import CheckpointPolicy
from fdlkit.train.context import named_losses, wanted_interms
from fdlkit.train.feed import Feed
from fdlkit.train.loop import Plan, Result, check_data, train_loop
from fdlkit.train.losses import Context, CrossEntropy, Loss
from fdlkit.train.metrics import MeanLoss, Metric
from fdlkit.train.models import as_model
from fdlkit.train.progress import NoProgress, Progress
from fdlkit.train.setup import Setup, Shapes, prepare, trace_shapes, using
from fdlkit.train.state import TrainState
from fdlkit.train.states import compute_states, pack_states, results
from fdlkit.train.step import (
    Batch,
    Schedule,
    logged,
    make_train_step,
    report_names,
)
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
      loss: What is minimized: a loss, or several by name, whose weighted means are
        summed; then each is logged as `losses/NAME` too. The first one's weights are
        the elements that rates count.
      inputs: The model's arguments by name, and where in the batch they are.
      eval_data: Held-out batches; None: no evaluation.
      metrics: What an evaluation reports, by name.
      train_metrics: What a log point reports of its own batch, by name: logged as
        `train/NAME`. Between log points they cost nothing.
      learning_rate: What the optimizer was given as its own, a schedule or a number,
        to be logged; None: it is not logged. A config makes it follow the optimizer:
        `learning_rate=ref("optimizer.learning_rate")`.
      schedules: Other values that follow the step, such as the weight of a loss, to be
        logged as `schedules/NAME`: nodes that are shared with who uses them.
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
    loss: Loss | Mapping[str, Loss] = CrossEntropy()
    inputs: Mapping[str, str] = dataclasses.field(default_factory=token_inputs)
    eval_data: Pipeline | None = None
    metrics: Mapping[str, Metric] = dataclasses.field(default_factory=mean_loss)
    train_metrics: Mapping[str, Metric] = dataclasses.field(default_factory=dict)
    learning_rate: Schedule | float | None = None
    schedules: Mapping[str, Schedule | float] = dataclasses.field(default_factory=dict)
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
            self.losses,
            self.optimizer,
            mesh=mesh,
            rules=self.rules,
            inputs=self.inputs,
            train_data=self.train_data,
            eval_data=self.eval_data,
            metrics=self.metrics,
            train_metrics=self.train_metrics,
            schedules=self.all_schedules,
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
        key = None if mesh is None else without_devices(mesh)
        if key not in self._traced:
            around = contextlib.nullcontext() if key is None else using(key, self.rules)
            with around:
                self._traced[key] = trace_shapes(
                    as_model(self.model),
                    self.losses,
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
        self,
        state: TrainState,
        batch: Batch,
        *,
        return_losses: bool = False,
        return_metrics: bool = False,
        return_keys: Sequence[str] = (),
    ) -> tuple[TrainState, dict[str, Any]]:
        """One update; the given state is donated.

        What is asked for beside the numbers is computed by the same step. A step that
        gives more is compiled once, and serves whoever asks for less afterwards.

        Args:
          state: From `init_state` or the last call.
          batch: A global batch, `[batch, ...]` each; NumPy arrays will do.
          return_losses: Give `losses` as well: each loss's `Elements`.
          return_metrics: Give `metrics`: the number of each of `train_metrics` on this
            batch; waits for the devices.
          return_keys: Give `keys`: what these key paths lead to in the step's context,
            by the key path: `preds`, `grads.encoder`, `interms.encoder.__call__[0]`.

        Returns:
          The next state, and this step's `loss`, each of several `losses/NAME`,
          `grad_norm`, `learning_rate` (where the trainer is told the schedule) and
          `param_norm`, [] float32, and what was asked for.

        Raises:
          UserError: The batch has other entries or shapes than `train_data` gives, or a
            key path leads nowhere.
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
        asked = {
            *(["losses"] if return_losses else []),
            *(["metrics"] if return_metrics else []),
            *(f"keys/{key}" for key in return_keys),
        }
        with using(setup.mesh, setup.rules):
            state, report, measured = self._stepper(frozenset(asked))(state, placed)
        named = dict(
            zip(report_names(self.losses, self.all_schedules), report, strict=True)
        )
        given = {name: named[name] for name in logged(self.losses, self.all_schedules)}
        if return_losses:
            given["losses"] = measured["losses"]
        if return_metrics:
            given["metrics"] = results(self.train_metrics, measured["metrics"].unpack())
        if return_keys:
            given["keys"] = {key: measured[f"keys/{key}"] for key in return_keys}
        return state, given

    def _stepper(self, asked: frozenset[str]) -> Any:
        """The jitted step that gives what is asked for: the smallest there is."""
        enough = [have for have in self._steppers if asked <= have]
        if not enough:
            self._steppers[asked] = self._jitted_step(asked)
            enough = [asked]
        return self._steppers[min(enough, key=len)]

    @functools.cached_property
    def _steppers(self) -> dict[frozenset[str], Any]:
        """Jitted steps by what they give beside their report."""
        return {}

    def _jitted_step(self, asked: frozenset[str]) -> Any:
        setup = self.setup
        keys = sorted(part[5:] for part in asked if part.startswith("keys/"))

        def measure(context: Context, at_log_point: jax.Array) -> dict[str, Any]:
            del at_log_point  # each step is one here
            given: dict[str, Any] = {
                f"keys/{key}": get_key(context, key, wanted_by="return_keys")
                for key in keys
            }
            if "losses" in asked:
                given["losses"] = context["losses"]
            if "metrics" in asked:
                states = compute_states(
                    self.train_metrics, context, where="train_metrics"
                )
                given["metrics"] = pack_states(states)
            return given

        step = make_train_step(
            as_model(self.model),
            self.losses,
            self.optimizer,
            inputs=self.inputs,
            schedules=self.all_schedules,
            # A window of one step: its means are the step's own values.
            log_every=1,
            num_train_steps=self.num_train_steps,
            seed=self.seed,
            capture=wanted_interms(
                self.losses, self.train_metrics if "metrics" in asked else {}, keys=keys
            ),
            measure=measure if asked else None,
        )
        return jax.jit(
            step,
            donate_argnums=0,
            in_shardings=(setup.shardings, setup.batch_sharding),
            out_shardings=(setup.shardings, setup.replicated, None),
        )

    @property
    def _plan(self) -> Plan:
        return Plan(
            train_data=self.train_data,
            eval_data=self.eval_data,
            metrics=self.metrics,
            train_metrics=self.train_metrics,
            num_train_steps=self.num_train_steps,
            log_every=self.log_every,
            eval_every=self.eval_every,
            checkpoints=self.checkpoints,
            writers=self.writers,
            unit=next(iter(self.losses.values())).unit,
            reported=report_names(self.losses, self.all_schedules),
            logged=logged(self.losses, self.all_schedules),
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
