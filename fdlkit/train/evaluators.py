"""Evaluators: what of a run is evaluated, when, and on which rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args

from fdlkit import suggest
from fdlkit.data.pipeline import Pipeline, derived_seed
from fdlkit.errors import UserError
from fdlkit.train.context import named_losses
from fdlkit.train.coverage import Coverage, Epoch
from fdlkit.train.evaluation import (
    ROWS,
    DataEvaluation,
    EvalPrograms,
    Evaluation,
    Measured,
)
from fdlkit.train.goals import Goal
from fdlkit.train.losses import Loss
from fdlkit.train.metrics import Metric
from fdlkit.train.occasions import Occasions
from fdlkit.train.setup import abstract_batch

# What numbers of the training itself are logged under, which no evaluator may be
# called.
NOT_NAMES = ("train", "losses", "schedules")
# Which parameters are evaluated: the averages of those that are trained, or these.
Which = Literal["ema", "live"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Given:
    """What an evaluator has of its trainer where it says nothing itself."""

    model: Any
    loss: Loss | Mapping[str, Loss]
    metrics: Mapping[str, Metric]
    inputs: Mapping[str, str]
    data: Pipeline | None
    train_data: Pipeline
    seed: int
    has_ema: bool


@dataclasses.dataclass(frozen=True, kw_only=True)
class AnyEvaluator(Occasions):
    """What a trainer may hold as an evaluator: `Evaluator`, or one of another kind."""

    def start(self, name: str, programs: EvalPrograms, given: Given) -> Evaluation:
        """What the run calls when this is due.

        Args:
          name: What the trainer calls this.
          programs: The run's compiled steps.
          given: What is the trainer's.
        """
        raise UserError(
            f"evaluators[{name!r}] is of {type(self).__name__}, which has no method "
            "`start`",
            "it returns what is called when the evaluator is due, an "
            "fdlkit.train.evaluation.Evaluation",
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evaluator(AnyEvaluator):
    """Metrics of the model over rows of some data, after some of a run's steps.

    In a config, by the name that its numbers are logged under:

        evaluators={
            "eval": Evaluator(every=1000),  # all of the trainer's eval_data
            "quick": Evaluator(every=100, coverage=First(2), last=False),
            "code": Evaluator(data=code, metrics={"loss": MeanLoss()}),
        }

    What is None is the trainer's. `rows`, how many rows were seen, is logged beside
    the metrics; padding is none.

    Attributes:
      data: Batches to evaluate on; None: the trainer's `eval_data`.
      coverage: Which of its batches: `Epoch()`, `First(n)`, or `Rolling(n)`, the next
        ones each time.
      model: Something that runs on the trained parameters; None: the trainer's.
      loss: None: the trainer's.
      metrics: What is reported, by name; None: the trainer's.
      inputs: The model's arguments by name, and where in the batch they are; None:
        the trainer's.
      params: Which parameters: `ema`, the averages that the trainer's `ema` keeps, or
        `live`, those that are trained; None: the averages where there are some.
    """

    data: Pipeline | None = None
    coverage: Coverage = Epoch()
    model: Any = None
    loss: Loss | Mapping[str, Loss] | None = None
    metrics: Mapping[str, Metric] | None = None
    inputs: Mapping[str, str] | None = None
    params: Which | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.params is not None and self.params not in get_args(Which):
            meant = suggest.hint(str(self.params), get_args(Which))
            raise ValueError(
                f"params={self.params!r} is none of 'ema', 'live' and None"
                + (f"; {meant}" if meant else "")
            )

    def filled(self, given: Given) -> Evaluator:
        """The same with what is the trainer's in place of None."""
        return dataclasses.replace(
            self,
            data=given.data if self.data is None else self.data,
            model=given.model if self.model is None else self.model,
            loss=given.loss if self.loss is None else self.loss,
            metrics=given.metrics if self.metrics is None else self.metrics,
            inputs=given.inputs if self.inputs is None else self.inputs,
        )

    @property
    def has_own(self) -> bool:
        """Whether it computes something else than the trainer's evaluation does."""
        own = (self.data, self.model, self.loss, self.metrics, self.inputs, self.params)
        return any(part is not None for part in own)

    def measured(self, name: str, given: Given) -> Measured | None:
        """What it computes of a batch; None if it has no data.

        Args:
          name: What the trainer calls it.
          given: What is the trainer's.
        """
        filled = self.filled(given)
        if filled.data is None:
            return None
        assert filled.loss is not None and filled.metrics is not None
        assert filled.inputs is not None
        own_metrics = f"evaluators[{name!r}].metrics"
        return Measured(
            model=filled.model,
            losses=named_losses(filled.loss),
            metrics=filled.metrics,
            inputs=filled.inputs,
            batch=abstract_batch(filled.data),
            live=self.params == "live",
            where="metrics" if self.metrics is None else own_metrics,
            who=f"the model of evaluators[{name!r}]" if self.has_own else "the model",
        )

    def start(self, name: str, programs: EvalPrograms, given: Given) -> Evaluation:
        """See `AnyEvaluator`."""
        data = given.data if self.data is None else self.data
        measured = self.measured(name, given)
        assert measured is not None and data is not None
        part = "eval_data" if self.data is None else f"evaluators.{name}.data"
        path = "eval_data" if self.data is None else f"evaluators[{name!r}].data"
        return DataEvaluation(
            programs,
            measured,
            data=data,
            data_path=path,
            default_seed=derived_seed(given.seed, part),
            coverage=self.coverage,
            number_of=self.times_before,
            is_known=not self.has_own,
        )


def with_eval_data(
    evaluators: Mapping[str, AnyEvaluator], *, data: Pipeline | None, every: int | None
) -> dict[str, AnyEvaluator]:
    """The evaluators of a trainer, with the one that `eval_data` stands for.

    It is called `eval`, and is first. One of that name that is given takes its place.
    """
    if data is None or "eval" in evaluators:
        return dict(evaluators)
    return {"eval": Evaluator(every=every)} | dict(evaluators)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fault:
    """Something that is wrong with evaluators, before anything is traced.

    Attributes:
      kind: `data`, `metrics`, `name`, `goal` or `twice`.
      path: Where in the trainer.
      what: What is wrong.
      meant: What was likely meant; None without a guess.
      there: What is possible.
      do: What to do.
    """

    kind: str
    path: str
    what: str
    do: str
    meant: str | None = None
    there: tuple[str, ...] = ()

    def error(self) -> UserError:
        """The same as what a run is refused with."""
        meant = [] if self.meant is None else [self.meant]
        return UserError(self.what, *meant, *self.there, self.do)


def faults_of(
    evaluators: Mapping[str, Any],
    given: Given,
    *,
    eval_every: int | None,
    goals: Mapping[str, Goal],
) -> Iterator[Fault]:
    """What is wrong with a trainer's evaluators.

    Args:
      evaluators: As the trainer has them, without the one of `eval_data`.
      given: What they inherit.
      eval_every: The trainer's.
      goals: What decides by their metrics, by the trainer's field.
    """
    for name, evaluator in evaluators.items():
        path = f"evaluators[{name!r}]"
        if not isinstance(evaluator, AnyEvaluator):
            yield Fault(
                kind="data",
                path=path,
                what=f"{path} is a {type(evaluator).__name__}, which is no evaluator",
                do="give it a Config(Evaluator), or leave it out",
            )
        if not _is_name(name):
            yield Fault(
                kind="name",
                path=path,
                what=f"no evaluator can be called {name!r}",
                there=(
                    "its numbers are logged as NAME/metric: a text without /, and none "
                    f"of {', '.join(NOT_NAMES)}, which name others",
                ),
                do="call it something else",
            )
        if not isinstance(evaluator, Evaluator):
            continue
        if evaluator.data is None and given.data is None:
            yield Fault(
                kind="data",
                path=f"{path}.data",
                what=f"the evaluator {name!r} has no data, and eval_data is None too",
                do=f"give it {path}.data, or the trainer eval_data",
            )
        coverage: Any = evaluator.coverage  # whatever a config has put there
        if not isinstance(coverage, Coverage):
            yield Fault(
                kind="data",
                path=f"{path}.coverage",
                what=f"{path}.coverage={coverage!r} says no batches",
                do="give it Epoch(), First(n) or Rolling(n) of fdlkit.train.coverage",
            )
        if evaluator.params == "ema" and not given.has_ema:
            yield Fault(
                kind="data",
                path=f"{path}.params",
                what=f"the evaluator {name!r} evaluates averages of the parameters, "
                "and the trainer keeps none",
                do="give the trainer ema=Config(Ema), or leave params out",
            )
    if "eval" in evaluators and eval_every is not None:
        yield Fault(
            kind="twice",
            path="eval_every",
            what=f"eval_every={eval_every}, and evaluators['eval'] says when it is due",
            do="leave eval_every out: evaluators['eval'].every is what counts",
        )
    whole = with_eval_data(evaluators, data=given.data, every=eval_every)
    whole = {name: one for name, one in whole.items() if isinstance(name, str)}
    in_trainer = False
    for name, evaluator in whole.items():
        if not isinstance(evaluator, Evaluator):
            continue
        if evaluator.metrics is not None:
            path = f"evaluators[{name!r}].metrics"
            yield from _of_metrics(name, path, evaluator.metrics)
        elif not in_trainer:
            in_trainer = True
            yield from _of_metrics(name, "metrics", given.metrics)
    for field, goal in goals.items():
        yield from _of_goal(field, goal, whole, given)


def _is_name(name: Any) -> bool:
    """Whether numbers can be logged as `NAME/metric`."""
    is_text = isinstance(name, str) and name.isprintable() and bool(name.strip())
    return is_text and name not in NOT_NAMES and "/" not in name


def _of_metrics(name: str, path: str, metrics: Mapping[str, Metric]) -> Iterator[Fault]:
    if not metrics:
        of = "eval_data is given" if name == "eval" else f"{name!r} is an evaluator"
        yield Fault(
            kind="metrics",
            path=path,
            what=f"{of}, and {path} is empty",
            do=f"{path}={{'loss': Config(MeanLoss)}}"
            + (", or eval_data=None" if name == "eval" else ""),
        )
    if ROWS in metrics:
        yield Fault(
            kind="name",
            path=f"{path}[{ROWS!r}]",
            what=f"{path}[{ROWS!r}] is called as what is logged of how many rows were "
            "seen",
            do="call it something else",
        )


def _of_goal(
    field: str, goal: Goal, evaluators: Mapping[str, AnyEvaluator], given: Given
) -> Iterator[Fault]:
    """A metric that no evaluator logs."""
    known: dict[str, str] = {}
    for name, evaluator in evaluators.items():
        if not isinstance(evaluator, Evaluator):
            continue
        for metric in [*(evaluator.filled(given).metrics or {}), ROWS]:
            known[f"{name}/{metric}"] = name
    meant = evaluators.get(goal.metric.partition("/")[0])
    is_others = meant is not None and not isinstance(meant, Evaluator)
    # A metric that comes to several numbers logs each as NAME/metric/number.
    is_part = any(goal.metric.startswith(f"{one}/") for one in known)
    if goal.metric in known or is_others or is_part:
        return

    # Whoever names the metric alone means it of an evaluator that has it.
    whole = next((one for one in known if one.partition("/")[2] == goal.metric), None)
    yield Fault(
        kind="goal",
        path=f"{field}.metric",
        what=f"{field}.metric={goal.metric!r} is logged by no evaluator",
        meant=suggest.hint(goal.metric, known) or suggest.did_you_mean(whole),
        there=(f"logged: {', '.join(known) or 'nothing'}",),
        do="name a metric as it is logged: EVALUATOR/metric",
    )
