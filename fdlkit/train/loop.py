"""The training loop: steps, log points, evaluations, checkpoints, an end."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import time
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
from etils import epath

from fdlkit.data.batches import BatchIterator
from fdlkit.data.pipeline import Pipeline
from fdlkit.errors import RunFailedError, UserError
from fdlkit.train.checkpoints import (
    CheckpointPolicy,
    Checkpoints,
    last_saved_step,
)
from fdlkit.train.evaluation import EvaluationStoppedError, evaluate
from fdlkit.train.feed import Feed
from fdlkit.train.metrics import Metric
from fdlkit.train.progress import Progress
from fdlkit.train.setup import Setup
from fdlkit.train.state import TrainState
from fdlkit.train.states import Packed, results
from fdlkit.train.stop import Stop
from fdlkit.train.throughput import Clock, StepCost, device_kind_of
from fdlkit.train.votes import Votes
from fdlkit.train.writers import JsonLines, Writer, WriterThread

# How much work the devices may have before them: enough that the host can hand over
# many short steps in one go, little enough that a stop is quick.
AHEAD_SECONDS = 2.0
AHEAD_STEPS = (2, 200)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plan:
    """What the loop does and when; the fields are `Trainer`'s.

    `reported` are the names of what a step's report has, in its order, `logged` those
    that are written; `unit` is what an element of the loss is.
    """

    train_data: Pipeline
    eval_data: Pipeline | None
    metrics: Mapping[str, Metric]
    train_metrics: Mapping[str, Metric]
    num_train_steps: int
    log_every: int
    eval_every: int | None
    checkpoints: CheckpointPolicy
    writers: Sequence[Writer]
    unit: str
    reported: Sequence[str]
    logged: Sequence[str]

    def is_log_point(self, step: int) -> bool:
        """Whether this step's report is written."""
        return step % self.log_every == 0 or step == self.num_train_steps

    def values(self, report: jax.Array) -> dict[str, float]:
        """A step's report by name."""
        return dict(zip(self.reported, np.asarray(report).tolist(), strict=True))

    def log_points(self, first: int, last: int) -> list[int]:
        """The steps from `first` to `last` whose reports are written."""
        begin = -(-first // self.log_every) * self.log_every
        points = list(range(begin, last + 1, self.log_every))
        if last == self.num_train_steps and last % self.log_every:
            points.append(last)
        return points

    def evaluates_at(self, step: int) -> bool:
        """Whether the state after this step is evaluated."""
        if self.eval_data is None or step == 0:
            return False
        periodic = self.eval_every is not None and step % self.eval_every == 0
        return periodic or step == self.num_train_steps

    def next_event(self, step: int) -> int:
        """The next step after which there is more to do than to log."""
        cadences = [self.checkpoints.every]
        if self.eval_data is not None and self.eval_every is not None:
            cadences.append(self.eval_every)
        steps = [(step // every + 1) * every for every in cadences]
        return min(*steps, self.num_train_steps)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Result:
    """How a run ended.

    Attributes:
      step: The number of updates that its last checkpoint has.
      finished: Whether that is `num_train_steps`, and evaluated.
      saved: Whether there is a checkpoint.
    """

    step: int
    finished: bool
    saved: bool = True


def train_loop(
    plan: Plan,
    setup: Setup,
    *,
    workdir: epath.Path,
    record: Mapping[str, str],
    stop: Stop,
    progress: Progress,
) -> Result:
    """Trains from the workdir's last checkpoint, or from step 0, to the end.

    Raises:
      UserError: The run cannot begin.
      RunFailedError: A loss or gradient was not finite.
    """
    last = last_saved_step(workdir / "checkpoints")
    first = last or 0
    evaluation_pending = plan.evaluates_at(first) and not JsonLines().has(
        workdir, first, "eval/"
    )
    if first >= plan.num_train_steps and not evaluation_pending:
        progress.say(
            f"finished already: {workdir} is at step {first} of "
            f"{plan.num_train_steps}; a larger num_train_steps goes on from there"
        )
        return Result(step=first, finished=True)
    if stop.signal is not None:
        return Result(step=first, finished=False, saved=last is not None)

    keep_record(workdir, record)
    feed = Feed(plan.train_data.batch_size, setup.batch_sharding)
    batches = plan.train_data.batches(rows=feed.rows)
    with (
        contextlib.closing(batches),
        Checkpoints(workdir / "checkpoints", plan.checkpoints) as checkpoints,
    ):
        if last is None:
            state = setup.init_state()
        else:
            state, position = checkpoints.restore(
                last, like=setup.state, shardings=setup.shardings
            )
            batches.set_state(position)
            progress.say(f"resumed from step {last} in {workdir}")
        writers = [JsonLines(), *plan.writers] if jax.process_index() == 0 else []
        with WriterThread(writers, workdir, first) as writer:
            around = _Surroundings(
                checkpoints=checkpoints,
                writer=writer,
                record=record,
                stop=stop,
                progress=progress,
            )
            loop = _Loop(plan, setup, around, state=state, batches=batches, first=first)
            return loop.run(evaluation_pending=evaluation_pending)


def check_data(plan: Plan) -> None:
    """Opens the data, and closes it again.

    Raises:
      UserError: It is missing, or ends before the last step.
    """
    if plan.eval_data is not None:
        plan.eval_data.batches().close()
    plan.train_data.batches().close()
    there = plan.train_data.num_batches
    if there is not None and there < plan.num_train_steps:
        raise UserError(
            f"the training data ends after {there} batches; "
            f"num_train_steps={plan.num_train_steps} needs as many",
            "train_data.num_epochs=None repeats it for ever",
        )


def keep_record(workdir: epath.Path, record: Mapping[str, str]) -> None:
    """Writes the record's files, before anything compiles.

    Raises:
      UserError: The workdir cannot be written.
    """
    try:
        folder = workdir / "record"
        folder.mkdir(parents=True, exist_ok=True)
        if jax.process_index() == 0:
            for name, text in record.items():
                beside = folder / f".{name}.new"
                beside.write_text(text)
                beside.replace(folder / name)
    except OSError as error:
        raise UserError(
            f"the workdir {workdir} cannot be written: {error.strerror or error}",
            "--workdir names a folder that you may create or write to",
        ) from error


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Surroundings:
    """What the loop talks to."""

    checkpoints: Checkpoints
    writer: WriterThread
    record: Mapping[str, str]
    stop: Stop
    progress: Progress


class _Loop:
    """The loop's moving parts. `step` counts dispatched updates."""

    def __init__(
        self,
        plan: Plan,
        setup: Setup,
        around: _Surroundings,
        *,
        state: TrainState,
        batches: BatchIterator,
        first: int,
    ):
        self.plan = plan
        self.setup = setup
        self.around = around
        self.state = state
        self.batches = batches
        self.step = first
        # A batch that was read ahead, for a step that a stop may forgo.
        self.batch: Any = None
        self.feed = Feed(plan.train_data.batch_size, setup.batch_sharding)
        self.votes = Votes(setup.mesh)
        # Virtual CPU devices share one thread pool: with two programs that hold
        # collectives in flight, each can wait for threads that the other has.
        virtual = setup.mesh.size > 1 and jax.default_backend() == "cpu"
        self.in_flight = 1 if virtual else AHEAD_STEPS[0]
        # Several processes read their reports at the same steps, so none may go by
        # its own clock.
        self.adapts = not virtual and not self.votes.several
        self.paced = (first, time.perf_counter())
        # Of the newest steps, up to `step`; the oldest first.
        self.reports: collections.deque[jax.Array] = collections.deque()
        # The states of `train_metrics`, by the log point whose report is among those.
        self.measured: dict[int, Packed] = {}
        self.clock = Clock(
            StepCost(
                flops=setup.flops,
                device_kind=device_kind_of(setup.mesh),
                num_devices=setup.mesh.size,
                unit=plan.unit,
            )
        )
        self.compiled_eval: Any = None

    def run(self, *, evaluation_pending: bool) -> Result:
        """Steps until the last one, a stop, or a loss that is not finite."""
        plan = self.plan
        try:
            if evaluation_pending:
                self.evaluate()
            if self.step < plan.num_train_steps:
                self.around.progress.say("compiling the training step")
                train_step = self.setup.lower_train_step(self.votes.spec).compile()
                self.take_batch()
                next_event = plan.next_event(self.step)
            while self.step < plan.num_train_steps and not self.stop_agreed():
                self.state, report, measured = train_step(
                    self.state, self.batch, self.votes.cast()
                )
                self.step += 1
                self.batch = None
                self.reports.append(report)
                if measured is not None and plan.is_log_point(self.step):
                    self.measured[self.step] = measured
                if self.step == next_event:
                    if plan.evaluates_at(self.step):
                        self.evaluate()
                    if self.step % plan.checkpoints.every == 0:
                        self.save()
                    next_event = plan.next_event(self.step)
                if self.step < plan.num_train_steps:
                    # The devices are at work on this step while the host reads.
                    self.take_batch()
                self.keep_pace()
            finished = self.step >= plan.num_train_steps
        except EvaluationStoppedError:
            self.around.progress.say(f"evaluation of step {self.step} was interrupted")
            finished = False
        self.save()
        return Result(step=self.step, finished=finished)

    def take_batch(self) -> None:
        """Reads the next batch, as the compiled step takes it."""
        self.batch = self.feed.place(next(self.batches))

    def stop_agreed(self) -> bool:
        """Whether to stop here: with several processes, all say the same."""
        if self.around.stop.signal is None:
            return self.votes.passed
        self.votes.wish_to_stop()
        return self.votes.passed

    def keep_pace(self) -> None:
        """Waits, once the devices have enough before them, until they have half."""
        if len(self.reports) < self.in_flight:
            return
        self.settle(len(self.reports) - self.in_flight // 2)
        if self.adapts:
            (step, then), now = self.paced, time.perf_counter()
            seconds_a_step = (now - then) / (self.step - step)
            fewest, most = AHEAD_STEPS
            wanted = int(AHEAD_SECONDS / max(seconds_a_step, 1e-6))
            self.in_flight = min(max(wanted, fewest), most)
            self.paced = (self.step, now)

    def settle(self, count: int) -> None:
        """Waits for the oldest reports, and logs those of log points."""
        first = self.step - len(self.reports) + 1
        reports = [self.reports.popleft() for _ in range(count)]
        # Steps finish in order: when the last is there, all are.
        reports[-1].block_until_ready()
        if self.votes.several:
            for report in reports:
                self.votes.count(self.plan.values(report)["stop_votes"])
        last = first + count - 1
        if not self.clock.started:
            self.clock.start(last)
        for step in self.plan.log_points(first, last):
            self.clock.measure(last)
            self.log(step, self.plan.values(reports[step - first]))

    def settle_all(self) -> None:
        """Waits for the devices, logs what there is to log, refuses what is broken."""
        if self.reports:
            newest = self.reports[-1]
            self.settle(len(self.reports))
            self.refuse_nonfinite(self.step, self.plan.values(newest))

    def log(self, step: int, report: Mapping[str, float]) -> None:
        """A log point: hands the numbers over to the writers' thread."""
        values = {name: report[name] for name in self.plan.logged}
        if (measured := self.measured.pop(step, None)) is not None:
            numbers = results(self.plan.train_metrics, measured.unpack())
            values |= {f"train/{name}": number for name, number in numbers.items()}
        elements = report["elements"] / report["steps"]
        values |= self.clock.rates(elements_per_step=elements)
        if note := self.clock.take_note():
            self.around.progress.say(note)
        self.around.writer.write(step, values)
        self.around.progress.update(step, values)
        self.refuse_nonfinite(step, report)

    def refuse_nonfinite(self, step: int, report: Mapping[str, float]) -> None:
        """Ends the run if a step up to this one had no finite loss or gradient."""
        if not report["first_nonfinite"]:
            return
        bad = step - int(report["steps"]) + int(report["first_nonfinite"])
        good = self.around.checkpoints.last_step
        raise RunFailedError(
            f"the loss or its gradient is not finite at step {bad} "
            f"(mean loss {report['loss']:g}, gradient norm {report['grad_norm']:g})",
            "no checkpoint was saved before it"
            if good is None
            else f"last good checkpoint: step {good}",
            "what to try: a lower learning rate, a longer warm-up, gradient clipping",
        )

    def evaluate(self) -> None:
        """Evaluates the state as it is now and writes the metrics."""
        plan = self.plan
        if plan.eval_data is None:
            return
        self.settle_all()
        began = time.perf_counter()
        self.around.progress.say(f"evaluating step {self.step}")
        if self.compiled_eval is None:
            self.compiled_eval = self.setup.lower_eval_step().compile()
        metrics = evaluate(
            self.compiled_eval,
            self.state,
            plan.eval_data,
            feed=Feed(plan.eval_data.batch_size, self.setup.batch_sharding),
            metrics=plan.metrics,
            stop=Stop() if self.votes.several else self.around.stop,
            in_flight=self.in_flight,
        )
        values = {f"eval/{name}": value for name, value in metrics.items()}
        self.around.writer.write(self.step, values)
        self.around.progress.update(self.step, values)
        self.clock.leave_out(time.perf_counter() - began)

    def save(self) -> None:
        """Saves the state as it is now, unless that step is saved."""
        self.settle_all()
        began = time.perf_counter()
        if self.around.checkpoints.last_step == self.step:
            return
        # What the checkpoint says was done must be on disk before it is.
        self.around.writer.flush()
        self.around.progress.say(f"saving step {self.step}")
        self.around.checkpoints.save(
            self.state,
            self.batches.get_state(unused=0 if self.batch is None else 1),
            step=self.step,
            record=self.around.record,
        )
        self.clock.leave_out(time.perf_counter() - began)
