"""The training loop: steps, log points, evaluations, checkpoints, an end."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import time
from collections.abc import Callable, Collection, Mapping, Sequence
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
from fdlkit.train.evaluation import Evaluation, EvaluationStoppedError
from fdlkit.train.feed import Feed
from fdlkit.train.flat_state import FlatState
from fdlkit.train.goals import KeepBest, StopEarly
from fdlkit.train.metrics import Metric
from fdlkit.train.occasions import Occasions
from fdlkit.train.pgle import Pgle
from fdlkit.train.profiled_step import guided
from fdlkit.train.progress import Progress
from fdlkit.train.refusals import explained, explained_results
from fdlkit.train.samples_file import SampleLines
from fdlkit.train.saved_state import told_of_fields
from fdlkit.train.setup import Setup, programs_at_once
from fdlkit.train.state import TrainState
from fdlkit.train.states import Packed
from fdlkit.train.stop import Stop
from fdlkit.train.throughput import Clock, StepCost, device_kind_of
from fdlkit.train.update import remarks
from fdlkit.train.verdict import Verdict
from fdlkit.train.votes import Votes
from fdlkit.train.writers import JsonLines, Writer, WriterThread

# How much work the devices may have before them: enough that the host can hand over
# many short steps in one go, little enough that a stop is quick. It begins with two.
# Of more than 32 the CPU's runtime takes only one after another: the host would wake up
# for each, into cold caches, at up to twice the time.
AHEAD_SECONDS = 2.0
AHEAD_STEPS = (2, 30)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plan:
    """What the loop does and when; the fields are `Trainer`'s.

    `evaluators` say when they are due, and `evaluations` what is done then, both by
    name; `data_seed` is for data that has none itself. `reported` are the names of
    what a step's report has, in its order, `logged` those that are written; `unit` is
    what an element of the loss is.
    """

    train_data: Pipeline
    data_seed: int
    evaluators: Mapping[str, Occasions]
    evaluations: Mapping[str, Evaluation]
    train_metrics: Mapping[str, Metric]
    num_train_steps: int
    log_every: int
    checkpoints: CheckpointPolicy
    keep_best: KeepBest | None
    stop_early: StopEarly | None
    writers: Sequence[Writer]
    unit: str
    reported: Sequence[str]
    logged: Sequence[str]
    pgle: Pgle | None = None

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

    def due(self, step: int, *, ends: bool = False) -> list[str]:
        """Which evaluators are due after this step.

        Args:
          step: The number of updates.
          ends: Whether the run ends here, although this is not its last step.
        """
        is_last = ends or step == self.num_train_steps
        return [
            name
            for name, one in self.evaluators.items()
            if one.is_due(step, is_last=is_last)
        ]

    def next_event(self, step: int) -> int:
        """The next step after which there is more to do than to log."""
        every = self.checkpoints.every
        steps = [(step // every + 1) * every, self.num_train_steps]
        for one in self.evaluators.values():
            following = one.next_after(step)
            if following is not None:
                steps.append(following)
        return min(steps)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Result:
    """How a run ended.

    Attributes:
      step: The number of updates that its last checkpoint has.
      finished: Whether that is `num_train_steps`, or where `stop_early` ends the run,
        and evaluated.
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
    verdict = Verdict(plan.keep_best, plan.stop_early, workdir=workdir, step=first)
    pending = [
        name
        for name in plan.due(first, ends=verdict.reason is not None)
        if not JsonLines().has(workdir, first, f"{name}/")
    ]
    if not pending and verdict.reason is not None and first < plan.num_train_steps:
        progress.say(
            f"finished already: {workdir} stopped early at step {first}: "
            f"{verdict.reason}; another stop_early, or none, goes on from there"
        )
        return Result(step=first, finished=True)
    if not pending and first >= plan.num_train_steps:
        progress.say(
            f"finished already: {workdir} is at step {first} of "
            f"{plan.num_train_steps}; a larger num_train_steps goes on from there"
        )
        return Result(step=first, finished=True)
    if stop.signal is not None:
        return Result(step=first, finished=False, saved=last is not None)

    keep_record(workdir, record)
    feed = Feed(plan.train_data.batch_size, setup.batch_sharding)
    batches = plan.train_data.batches(rows=feed.rows, default_seed=plan.data_seed)
    with (
        contextlib.closing(batches),
        Checkpoints(workdir / "checkpoints", plan.checkpoints) as checkpoints,
        contextlib.ExitStack() as held,
    ):
        if last is None:
            state = setup.init_state()
        else:
            state, position = checkpoints.restore(
                last, like=setup.state, shardings=setup.shardings
            )
            batches.set_state(position)
            progress.say(f"resumed from step {last} in {workdir}")
            state = setup.completed(state)
            told = told_of_fields(
                checkpoints.fields(last), checkpoints.window(last), setup.state
            )
            for line in told.values():
                progress.say(line)
        own: tuple[Writer, ...] = (JsonLines(), SampleLines())
        writers = [*own, *plan.writers] if jax.process_index() == 0 else []
        with WriterThread(writers, workdir, first) as writer:
            around = _Surroundings(
                workdir=workdir,
                held=held,
                checkpoints=checkpoints,
                writer=writer,
                record=record,
                stop=stop,
                progress=progress,
            )
            loop = _Loop(
                plan,
                setup,
                around,
                state=state,
                batches=batches,
                first=first,
                verdict=verdict,
            )
            return loop.run(pending)


def check_data(train_data: Pipeline, *, num_train_steps: int) -> None:
    """Opens the training data, and closes it again.

    Raises:
      UserError: It is missing, or ends before the last step.
    """
    train_data.batches().close()
    there = train_data.num_batches
    if there is not None and there < num_train_steps:
        raise UserError(
            f"the training data ends after {there} batches; "
            f"num_train_steps={num_train_steps} needs as many",
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
    """What the loop talks to; what is entered in `held` ends with the run."""

    workdir: epath.Path
    held: contextlib.ExitStack
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
        verdict: Verdict,
    ):
        self.plan = plan
        self.setup = setup
        self.around = around
        self.flat = FlatState(setup.state)
        self.arrays = self.flat.flatten(state)
        self.batches = batches
        self.step = first
        self.verdict = verdict
        self.noted: set[str] = set()
        # A batch that was read ahead, for a step that a stop may forgo.
        self.batch: Any = None
        self.feed = Feed(plan.train_data.batch_size, setup.batch_sharding)
        self.votes = Votes(setup.mesh)
        self.in_flight = programs_at_once(setup.mesh)
        # Several processes read their reports at the same steps, so none may go by
        # its own clock.
        self.adapts = self.in_flight > 1 and not self.votes.several
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

    def run(self, pending: Collection[str]) -> Result:
        """Steps until the last one, a stop, or a loss that is not finite.

        Args:
          pending: Evaluators that are due at the step that the run begins with.
        """
        plan = self.plan
        self.keep_best()
        try:
            self.evaluate(pending)
            if self.goes_on:
                self.around.progress.say("compiling the training step")
                train_step = self.compiled_step()
                self.take_batch()
                next_event = plan.next_event(self.step)
            while self.goes_on and not self.stop_agreed():
                self.arrays, report, measured = train_step(
                    self.arrays, self.batch, self.votes.cast()
                )
                self.step += 1
                self.batch = None
                self.reports.append(report)
                if measured is not None and plan.is_log_point(self.step):
                    self.measured[self.step] = measured
                if self.step == next_event:
                    self.evaluate(plan.due(self.step))
                    if self.step % plan.checkpoints.every == 0:
                        self.save()
                    next_event = plan.next_event(self.step)
                if self.goes_on:
                    # The devices are at work on this step while the host reads.
                    self.take_batch()
                self.keep_pace()
            finished = not self.goes_on
        except EvaluationStoppedError:
            self.around.progress.say(f"evaluation of step {self.step} was interrupted")
            finished = False
        self.save()
        for remark in remarks(self.state):
            self.around.progress.say(remark)
        return Result(step=self.step, finished=finished)

    @property
    def state(self) -> TrainState:
        """The training state as it is now; the next step takes its arrays away."""
        return self.flat.unflatten(self.arrays)

    def compiled_step(self) -> Callable[..., Any]:
        """The training step, as it is called."""
        setup = self.flat.setup_of(self.setup)
        with explained(self.setup.batch, "the training step does"):
            lowered = setup.lower_train_step(self.votes.spec)
        if self.plan.pgle is None:
            return lowered.compile()
        return self.around.held.enter_context(
            guided(
                self.plan.pgle,
                setup,
                lowered,
                self.votes.spec,
                workdir=self.around.workdir,
                say=self.around.progress.say,
                leave_out=self.clock.leave_out,
            )
        )

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
            numbers = explained_results(
                self.plan.train_metrics, measured.unpack(), where="train_metrics"
            )
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

    @property
    def goes_on(self) -> bool:
        """Whether there is a step to be made."""
        return self.step < self.plan.num_train_steps and self.verdict.reason is None

    def evaluate(self, names: Collection[str]) -> None:
        """Evaluates the state as it is now and writes what it comes to.

        Where that ends the run, the evaluators that are due at its end follow.
        """
        if not names:
            return
        self.settle_all()
        began = time.perf_counter()
        for name in names:
            self.evaluate_by(name)
        if self.verdict.reason is not None:
            for name in self.plan.due(self.step, ends=True):
                if name not in names:
                    self.evaluate_by(name)
            self.around.progress.say(
                f"stopping early at step {self.step}: {self.verdict.reason}"
            )
        self.clock.leave_out(time.perf_counter() - began)
        self.keep_best()

    def keep_best(self) -> None:
        """Has the checkpoint that evaluated best stay; saves it, if that is this."""
        best = self.verdict.best_step
        if best is not None:
            self.around.checkpoints.mark_best(best, self.verdict.best)
        if best == self.step:
            self.save()

    def evaluate_by(self, name: str) -> None:
        """One evaluator's part of it."""
        called = "" if name == "eval" else f" ({name})"
        self.around.progress.say(f"evaluating step {self.step}{called}")
        found = self.plan.evaluations[name](
            self.state,
            step=self.step,
            stop=Stop() if self.votes.several else self.around.stop,
            in_flight=self.in_flight,
        )
        if found.note is not None and name not in self.noted:
            self.noted.add(name)
            self.around.progress.say(f"{name}: {found.note}")
        values = {f"{name}/{key}": value for key, value in found.values.items()}
        if found.texts:
            self.around.writer.write_texts(self.step, name, found.texts)
            self.around.progress.say(f"{name}: {found.texts[0].shown()}")
        self.around.writer.write(self.step, values)
        self.around.progress.update(self.step, values)
        self.verdict.see(self.step, name, values)

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
