"""An evaluation of the state on data, exact over rows, batches and processes."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from fdlkit.data.pipeline import Pipeline
from fdlkit.train.context import wanted_interms
from fdlkit.train.coverage import (
    Coverage,
    Epoch,
    Span,
    refuse_endless,
    rows_expected,
    rows_in,
)
from fdlkit.train.feed import Feed
from fdlkit.train.losses import Loss
from fdlkit.train.metrics import Metric
from fdlkit.train.models import as_model
from fdlkit.train.refusals import (
    explained,
    explained_merge,
    explained_results,
    on_batch,
    refuse_other_states,
    told_losses,
    told_metrics,
)
from fdlkit.train.result_names import (
    Numbers,
    all_numbers,
    numbers_of,
    refuse_other_results,
    refuse_same_names,
    shapes_in,
)
from fdlkit.train.setup import ArraySpecs, Setup, using
from fdlkit.train.state import TrainState
from fdlkit.train.states import Packed
from fdlkit.train.step import make_eval_step
from fdlkit.train.stop import Stop
from fdlkit.train.writers import SampleText

# What an evaluation logs beside its metrics.
ROWS = "rows"


class EvaluationStoppedError(Exception):
    """The run was asked to stop while it was evaluating."""


@dataclasses.dataclass(frozen=True)
class Evaluated:
    """What an evaluation came to.

    Attributes:
      values: Numbers by name, logged as `EVALUATOR/name`.
      note: What a person should know of it, told once a run; None: nothing.
      texts: What the model wrote, to be logged as well.
    """

    values: Mapping[str, float]
    note: str | None = None
    texts: Sequence[SampleText] = ()


class Evaluation(Protocol):
    """What an evaluator does when it is due; made once a run."""

    def check(self) -> Numbers | None:
        """Refuses what can be refused before anything compiles.

        Returns:
          The names of the numbers that it gives, as far as that is known; None: it is
          not.

        Raises:
          UserError: Data that is missing, or has no end.
        """

    def __call__(
        self, state: TrainState, *, step: int, stop: Stop, in_flight: int
    ) -> Evaluated:
        """Evaluates a state.

        Args:
          state: The state after `step` updates.
          step: The number of updates.
          stop: Looked at often.
          in_flight: How many programs the devices may have before them.

        Raises:
          EvaluationStoppedError: `stop` was requested.
        """


@dataclasses.dataclass(frozen=True, kw_only=True)
class Measured:
    """What an evaluation step computes.

    Attributes:
      model: As a trainer takes it; runs on the state's parameters.
      losses: By name; their elements are in the metrics' context.
      metrics: What is reported, by name.
      inputs: The model's arguments by name, and where in the batch they are.
      batch: The shapes of a global batch.
      live: Whether of the trained parameters, also where there are averages of them.
      where: The config path of `metrics`, for messages.
      who: What the model is called in messages.
    """

    model: Any
    losses: Mapping[str, Loss]
    metrics: Mapping[str, Metric]
    inputs: Mapping[str, str]
    batch: ArraySpecs
    live: bool = False
    where: str = "metrics"
    who: str = "the model"


class EvalPrograms:
    """The compiled evaluation steps of a run: one for evaluators that are alike.

    Attributes:
      setup: Of the run.
    """

    def __init__(self, setup: Setup):
        self.setup = setup
        self._lowered: dict[Any, Any] = {}
        self._compiled: dict[Any, Any] = {}

    def lower(self, measured: Measured) -> Any:
        """The lowered evaluation step, lowered when it is first asked for.

        Raises:
          UserError: A key path that leads nowhere, or a part that cannot be traced.
        """
        key = _key(measured)
        if key not in self._lowered:
            step = make_eval_step(
                as_model(measured.model),
                told_losses(measured.losses),
                inputs=measured.inputs,
                metrics=told_metrics(measured.metrics),
                capture=wanted_interms(measured.losses, measured.metrics),
                where=measured.where,
            )
            with explained(measured.batch, f"{measured.who} does"):
                self._lowered[key] = self.setup.lower_evaluation(
                    step, measured.batch, live=measured.live
                )
        return self._lowered[key]

    def compiled(self, measured: Measured) -> Any:
        """The compiled evaluation step, compiled when it is first asked for."""
        key = _key(measured)
        if key not in self._compiled:
            self._compiled[key] = self.lower(measured).compile()
        return self._compiled[key]


def _key(measured: Measured) -> tuple[Any, ...]:
    """What two evaluation steps have in common if they are one.

    What is inherited is one object, which the trainer holds as long as there are any.
    """
    parts = (measured.model, measured.metrics, measured.inputs)
    shapes = [(n, a.shape, str(a.dtype)) for n, a in measured.batch.items()]
    losses = [(name, id(loss)) for name, loss in measured.losses.items()]
    return (measured.live, *map(id, parts), *losses, *shapes)


class DataEvaluation:
    """Metrics of the model over rows of a pipeline.

    Attributes:
      measured: What is computed of a batch.
    """

    def __init__(
        self,
        programs: EvalPrograms,
        measured: Measured,
        *,
        data: Pipeline,
        data_path: str,
        default_seed: int,
        coverage: Coverage,
        number_of: Callable[[int], int],
        is_known: bool,
    ):
        """Nothing is read, traced or compiled yet.

        Args:
          programs: Of the run.
          measured: What is computed of a batch.
          data: The rows.
          data_path: Where in the trainer they are, for messages.
          default_seed: Of their order, where the data itself has no seed.
          coverage: Which of them.
          number_of: The number of an evaluation, from 0, by its step.
          is_known: Whether the run's setup has traced as much already.
        """
        self.measured = measured
        self._programs = programs
        self._data = data
        self._data_path = data_path
        self._default_seed = default_seed
        self._coverage = coverage
        self._number_of = number_of
        self._is_known = is_known

    def check(self) -> Numbers | None:
        """See `Evaluation`."""
        if isinstance(self._coverage, Epoch):
            refuse_endless(self._data, self._data_path)
        self._data.batches().close()
        measured, setup = self.measured, self._programs.setup
        same = all(
            name not in setup.batch or setup.batch[name].shape == array.shape
            for name, array in measured.batch.items()
        )
        if not self._is_known or not same:
            states = shapes_in(self.lower().out_info)
        else:
            # The model has been traced on such batches; the losses on none with a mask.
            with using(setup.mesh, setup.rules):
                states = refuse_other_states(
                    told_metrics(measured.metrics),
                    on_batch(measured.losses, setup.context, measured.batch),
                    where=measured.where,
                )
        refuse_other_results(measured.metrics, states, where=measured.where)
        found = numbers_of(measured.metrics, states)
        refuse_same_names(found, where=measured.where)
        told = all_numbers(found)
        return None if told is None else {**told, ROWS: True}

    def lower(self) -> Any:
        """The lowered evaluation step."""
        return self._programs.lower(self.measured)

    def __call__(
        self, state: TrainState, *, step: int, stop: Stop, in_flight: int
    ) -> Evaluated:
        """See `Evaluation`: `rows`, how many were seen, and each metric."""
        compiled = self._programs.compiled(self.measured)
        metrics, data = self.measured.metrics, self._data
        spans = self._coverage.spans(self._number_of(step), data.num_batches)
        feed = Feed(data.batch_size, self._programs.setup.batch_sharding)
        params = state.params if self.measured.live else state.eval_params
        totals: Any = None
        merged = functools.partial(explained_merge, metrics, where=self.measured.where)
        pending: collections.deque[Packed] = collections.deque()
        with contextlib.closing(self._batches(spans, feed)) as batches:
            for batch in batches:
                if stop.signal is not None:
                    raise EvaluationStoppedError
                placed = feed.place(batch)
                packed = compiled(params, state.model_state, placed, state.step)
                pending.append(packed)
                while len(pending) >= in_flight:
                    # Reading waits for one device; the others must be done as well,
                    # or two programs are in flight on those.
                    pending[0].values.block_until_ready()
                    totals = merged(totals, pending.popleft().unpack())
        for packed in pending:
            totals = merged(totals, packed.unpack())
        values = {}
        if totals is not None:
            values = explained_results(metrics, totals, where=self.measured.where)
        rows = rows_in(data, spans)
        return Evaluated({**values, ROWS: rows}, self._note(spans, rows))

    def _batches(
        self, spans: list[Span], feed: Feed
    ) -> Generator[Mapping[str, np.ndarray], None, None]:
        """This process's rows of some global batches."""
        batches = self._data.batches(rows=feed.rows, default_seed=self._default_seed)
        try:
            for first, count in spans:
                batches.set_state(batches.get_state() | {"next_batch": first})
                for _ in range(count):
                    yield next(batches)
        finally:
            batches.close()

    def _note(self, spans: list[Span], rows: int) -> str | None:
        """That other rows were seen than the coverage says, and why."""
        expected = rows_expected(self._data, self._coverage, spans)
        if rows == expected:
            return None
        return f"{rows:,} of {expected:,} rows were evaluated: " + (
            "the data leaves out what does not fill a batch (remainder='drop')"
            if isinstance(self._coverage, Epoch)
            else f"the data has fewer batches than {self._coverage} asks for"
        )
