"""The trainer: an experiment's parts in one frozen dataclass."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import optax
from etils import epath

from fdlkit.data.pipeline import Pipeline, derived_seed
from fdlkit.errors import UserError
from fdlkit.keys import get_key
from fdlkit.sharding.layout import DEFAULT_RULES, AxisRules
from fdlkit.sharding.mesh import Mesh, without_devices
from fdlkit.train.checkpoints import CheckpointPolicy
from fdlkit.train.context import named_losses, wanted_interms, wanted_parts
from fdlkit.train.ema import Ema
from fdlkit.train.evaluation import EvalPrograms, Evaluation
from fdlkit.train.evaluators import (
    AnyEvaluator,
    Fault,
    Given,
    faults_of,
    with_eval_data,
)
from fdlkit.train.feed import Feed
from fdlkit.train.goals import Goal, KeepBest, StopEarly
from fdlkit.train.loop import Plan, Result, check_data, train_loop
from fdlkit.train.loss_scale import DynamicLossScale, LossScale
from fdlkit.train.losses import Context, CrossEntropy, Loss
from fdlkit.train.metrics import MeanLoss, Metric
from fdlkit.train.models import as_model
from fdlkit.train.nonfinite import SkipNonfinite
from fdlkit.train.pgle import Pgle, refuse_pgle
from fdlkit.train.progress import NoProgress, Progress
from fdlkit.train.result_names import refuse_unlogged_goals
from fdlkit.train.setup import Setup, Shapes, prepare, trace_shapes, using
from fdlkit.train.standalone import (
    Chosen,
    EvaluatedCheckpoint,
    chosen_step,
    evaluate_checkpoint,
)
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
from fdlkit.train.update import UpdateRules, update_reports
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
      eval_data: Held-out batches; None: only evaluators that have their own.
      metrics: What an evaluation reports, by name.
      train_metrics: What a log point reports of its own batch, by name: logged as
        `train/NAME`. Between log points they cost nothing.
      learning_rate: What the optimizer was given as its own, a schedule or a number,
        to be logged; None: it is not logged. A config makes it follow the optimizer:
        `learning_rate=ref("optimizer.learning_rate")`.
      schedules: Other values that follow the step, such as the weight of a loss, to be
        logged as `schedules/NAME`: nodes that are shared with who uses them.
      microbatches: In how many parts, one after another, a step computes the gradient
        of its batch (gradient accumulation); it divides the rows of each device.
      ema: An average of the parameters, which evaluations use in their place; None:
        they use the parameters.
      loss_scale: What the loss is multiplied by while it is differentiated, for models
        that compute in float16; None: nothing.
      skip_nonfinite: Have a step whose loss or gradient is not finite make no update;
        None: the first one ends the run.
      mesh: The device mesh.
      rules: What mesh axes a logical axis is cut over.
      log_every: Steps between log points; what is logged is a mean over them.
      eval_every: Steps between evaluations on `eval_data`, logged as `eval/metric`;
        None: only after the last step.
      evaluators: Others, by the name that their numbers are logged under.
      keep_best: Which checkpoint stays besides the newest; None: none.
      stop_early: When the run ends before its last step; None: never.
      checkpoints: When they are saved, and how many stay.
      writers: Where numbers go beside `metrics.jsonl`.
      pgle: Have XLA schedule the training step of a GPU by times that were measured;
        None: it guesses them.
      seed: Of the initial values and of dropout, and of the order of data that has no
        seed of its own.
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
    microbatches: int = 1
    ema: Ema | None = None
    loss_scale: LossScale | DynamicLossScale | None = None
    skip_nonfinite: SkipNonfinite | None = None
    mesh: Mesh = Mesh()
    rules: AxisRules = DEFAULT_RULES
    log_every: int = 100
    eval_every: int | None = None
    evaluators: Mapping[str, AnyEvaluator] = dataclasses.field(default_factory=dict)
    keep_best: KeepBest | None = None
    stop_early: StopEarly | None = None
    checkpoints: CheckpointPolicy = CheckpointPolicy()
    writers: Sequence[Writer] = ()
    pgle: Pgle | None = None
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
        if self.microbatches < 1:
            raise ValueError(
                f"microbatches={self.microbatches}: it counts the parts of a batch, so "
                "at least 1"
            )

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

    @property
    def reported(self) -> tuple[str, ...]:
        """What a step reports, in its order."""
        names = report_names(self.losses, self.all_schedules)
        return (*names, *update_reports(self.update_rules))

    @property
    def logged(self) -> tuple[str, ...]:
        """The entries of a report that are shown to people, in their order."""
        names = logged(self.losses, self.all_schedules)
        return (*names, *update_reports(self.update_rules))

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
            updates=self.update_rules,
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
                    updates=self.update_rules,
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
          `grad_norm`, `learning_rate` (where the trainer is told the schedule),
          `param_norm`, `loss_scale` and `skipped` (where there are such), [] float32,
          and what was asked for.

        Raises:
          UserError: The batch has other entries or shapes than `train_data` gives, or a
            key path leads nowhere.
        """
        setup = self.setup
        wanted = {name: a.shape[1:] for name, a in setup.batch.items()}
        given_rows = {name: a.shape[1:] for name, a in batch.items()}
        if given_rows != wanted:
            raise UserError(
                "this batch is not like those of train_data",
                f"it has {_spelled_rows(given_rows) or 'nothing'}",
                f"wanted: {_spelled_rows(wanted)}",
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
        named = dict(zip(self.reported, report, strict=True))
        given = {name: named[name] for name in self.logged}
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
        metrics = self.train_metrics if "metrics" in asked else {}

        def measure(context: Context) -> dict[str, Any]:
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
            # Each step is a log point: the window's means are the step's own values.
            log_every=1,
            num_train_steps=self.num_train_steps,
            seed=self.seed,
            rules=self.update_rules,
            capture=wanted_interms(self.losses, metrics, keys=keys),
            measure=measure if asked else None,
            measured_parts=wanted_parts(metrics, keys=keys),
        )
        return jax.jit(
            step,
            donate_argnums=0,
            in_shardings=(setup.shardings, setup.batch_sharding),
            out_shardings=(setup.shardings, setup.replicated, None),
        )

    @functools.cached_property
    def all_evaluators(self) -> dict[str, AnyEvaluator]:
        """The evaluators by name, with the one that `eval_data` stands for."""
        return with_eval_data(
            self.evaluators, data=self.eval_data, every=self.eval_every
        )

    @property
    def given(self) -> Given:
        """What evaluators have of this where they say nothing themselves."""
        return Given(
            model=self.model,
            loss=self.loss,
            metrics=self.metrics,
            inputs=self.inputs,
            data=self.eval_data,
            train_data=self.train_data,
            seed=self.seed,
            has_ema=self.ema is not None,
        )

    @property
    def goals(self) -> dict[str, Goal]:
        """What decides by the metrics of evaluators, by the field that says it."""
        goals = {"keep_best": self.keep_best, "stop_early": self.stop_early}
        return {name: goal for name, goal in goals.items() if goal is not None}

    def faults(self) -> Iterator[Fault]:
        """What is wrong with the evaluators, before anything is traced."""
        return faults_of(
            self.evaluators, self.given, eval_every=self.eval_every, goals=self.goals
        )

    @functools.cached_property
    def evaluations(self) -> dict[str, Evaluation]:
        """What is done when an evaluator is due, by its name."""
        given, programs = self.given, EvalPrograms(self.setup)
        return {
            name: evaluator.start(name, programs, given)
            for name, evaluator in self.all_evaluators.items()
        }

    @property
    def _plan(self) -> Plan:
        return Plan(
            train_data=self.train_data,
            data_seed=derived_seed(self.seed, "train_data"),
            evaluators=self.all_evaluators,
            evaluations=self.evaluations,
            train_metrics=self.train_metrics,
            num_train_steps=self.num_train_steps,
            log_every=self.log_every,
            checkpoints=self.checkpoints,
            keep_best=self.keep_best,
            stop_early=self.stop_early,
            writers=self.writers,
            unit=next(iter(self.losses.values())).unit,
            reported=self.reported,
            logged=self.logged,
            pgle=self.pgle,
        )

    def check(self) -> None:
        """Refuses what can be refused before anything compiles or is written.

        Raises:
          UserError: See `prepare`; or data that is missing or ends too early; or a
            writer that needs what is not installed; or a profile where it is no use.
        """
        for writer in self.writers:
            writer.check()
        setup = self.setup
        if self.pgle is not None:
            refuse_pgle(self.pgle, setup.mesh)
        self.check_evaluations()
        check_data(self.train_data, num_train_steps=self.num_train_steps)

    def check_evaluations(self) -> None:
        """Refuses what can be refused of the evaluators alone.

        Raises:
          UserError: See `faults`; or data that is missing, or does not fit; or two
            metrics of one name, or a goal that goes by what no evaluator logs.
        """
        for fault in self.faults():
            raise fault.error()
        told = {name: one.check() for name, one in self.evaluations.items()}
        refuse_unlogged_goals(self.goals, told)

    def evaluate(
        self,
        workdir: str | epath.Path,
        which: Chosen = "last",
        *,
        stop: Stop | None = None,
        progress: Progress | None = None,
    ) -> EvaluatedCheckpoint:
        """Evaluates a checkpoint of a run with all evaluators, and changes nothing.

        Args:
          workdir: The run's folder; the run may be going on.
          which: The step of the checkpoint, or `last`, or `best`.
          stop: Looked at before every batch.
          progress: Is told how it goes.

        Raises:
          UserError: There is no such checkpoint, or nothing to evaluate on.
          RunFailedError: The checkpoint is damaged, or of another model.
          EvaluationStoppedError: `stop` was requested.
        """
        path = epath.Path(workdir)
        step = chosen_step(path, which)
        if not self.all_evaluators:
            raise UserError(
                "there is nothing to evaluate on: no eval_data, and no evaluators",
                "give the trainer eval_data, or an evaluator with data",
            )
        self.check_evaluations()
        return evaluate_checkpoint(
            self.evaluations,
            self.setup,
            workdir=path,
            step=step,
            stop=stop or Stop(),
            progress=progress or NoProgress(),
        )

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


def _spelled_rows(shapes: Mapping[str, Sequence[int]]) -> str:
    """`x [batch, 4], labels [batch]`, of the shapes of a row."""
    dims = {name: ", ".join(map(str, ("batch", *row))) for name, row in shapes.items()}
    return ", ".join(f"{name} [{text}]" for name, text in dims.items())
