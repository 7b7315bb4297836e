"""`fdlkit train --debug`: a few steps, watched, that leave no run behind.

Each step runs twice: without jit, held to its named axes, and compiled with the checks
of `checkify` in it. All that is written is in `debug/` of the workdir: `batch.txt`,
`step-1.txt` and so on, `NAME.txt` of each evaluator, and `report.txt`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TextIO

import jax
import numpy as np
from etils import epath

from fdlkit.data.describe import example_text
from fdlkit.data.pipeline import Pipeline, derived_seed
from fdlkit.errors import RunFailedError, UserError
from fdlkit.run import workdir
from fdlkit.run.debug_values import Value, parameter_axes, table, values
from fdlkit.run.launch import built_trainer, summary
from fdlkit.run.lifecycle import exit_code
from fdlkit.run.preflight import preflight
from fdlkit.train import named_axes
from fdlkit.train.debugging import (
    Seen,
    checked_evaluation,
    checked_step,
    eager_evaluation,
    eager_step,
    source_lines,
)
from fdlkit.train.evaluation import EvaluationStoppedError
from fdlkit.train.evaluators import AnyEvaluator, Evaluator
from fdlkit.train.named_axes import NamedAxisError
from fdlkit.train.progress import format_values
from fdlkit.train.state import TrainState
from fdlkit.train.stop import Stop
from fdlkit.train.trainer import Trainer

FOLDER = "debug"
# Where a number that is not finite is wrong whatever the model is.
_MUST_BE_FINITE = ("losses", "params", "grads", "updates")
_ROWS_SHOWN = 3
_KEYS_TOLD = 6


def debug(
    cfg: Any,
    *,
    target: str,
    directory: str,
    stop: Stop,
    steps: int = 3,
    dry_run: bool = False,
    check: str = "fast",
    stream: TextIO | None = None,
) -> int:
    """Runs the first steps of an experiment, watched, and a batch of each evaluator.

    It begins at the initial values whatever is in the workdir, where a run may be or
    be going on: nothing outside its folder `debug` is read or written.

    Args:
      cfg: A config of a `Trainer`.
      target: What the user named.
      directory: The workdir.
      stop: Looked at before every step.
      steps: How many; no more than `num_train_steps`.
      dry_run: Check everything that needs no device, and write nothing.
      check: What is checked before, see `preflight`.
      stream: Where talk goes; stderr unless given.

    Returns:
      0: nothing is wrong; 75 or 130: stopped.

    Raises:
      UserError: It cannot begin; nothing was compiled or written.
      RunFailedError: A check failed.
    """
    stream = stream or sys.stderr
    trainer = built_trainer(cfg, target)
    path = workdir.as_path(directory)
    preflight(cfg, trainer, check=check, workdir=directory, stream=stream)
    try:
        with named_axes.refusing():
            trainer.check()
    except NamedAxisError as error:
        raise RunFailedError(*error.lines) from error
    if dry_run:
        print(summary(trainer), file=stream)
        print("checked; nothing was run or written", file=stream)
        return 0
    steps = min(steps, trainer.num_train_steps)
    notes = _Notes(path / FOLDER, stream)
    try:
        return _debug(trainer, steps, notes, stop)
    except RunFailedError as error:
        notes.keep("error: " + "\n  ".join(error.lines))
        raise


def _debug(trainer: Trainer, steps: int, notes: _Notes, stop: Stop) -> int:
    notes.say(summary(trainer))
    notes.say(
        f"debugging {steps} step{'s' * (steps != 1)}: without jit, then compiled with "
        f"run-time checks; only {notes.folder} is written"
    )
    axes = parameter_axes(trainer.setup.shapes.variables)
    state = trainer.init_state()
    programs: dict[str, Any] = {}
    seed = derived_seed(trainer.seed, "train_data")
    with contextlib.closing(trainer.train_data.batches(default_seed=seed)) as batches:
        for step in range(1, steps + 1):
            if stop.signal is not None:
                return _stopped(notes, stop)
            batch = next(batches)
            if step == 1:
                _show_batch(notes, batch, trainer.train_data)
            watched = _Watched(f"step {step}", f"step-{step}.txt", notes, axes, trainer)
            state = watched.step(state, batch, programs)
    for name, evaluator in trainer.all_evaluators.items():
        if stop.signal is not None:
            return _stopped(notes, stop)
        watched = _Watched(f"evaluator {name!r}", f"{name}.txt", notes, axes, trainer)
        if isinstance(evaluator, Evaluator):
            watched.evaluate(name, evaluator, state)
        elif not _run_other(watched, name, evaluator, state, stop):
            return _stopped(notes, stop)
    notes.say(f"nothing is wrong; every value is in {notes.folder}")
    return 0


def _stopped(notes: _Notes, stop: Stop) -> int:
    notes.say("stopped")
    return exit_code(stop, finished=False)


@dataclasses.dataclass(frozen=True)
class _Watched:
    """One step, or one batch of an evaluator.

    Attributes:
      what: What a person calls it: `step 1`.
      file: The file of its values.
      notes: Where it is told.
      axes: The names of the parameters' axes.
      trainer: The experiment.
    """

    what: str
    file: str
    notes: _Notes
    axes: Mapping[Any, Any]
    trainer: Trainer

    def step(
        self, state: TrainState, batch: Any, programs: dict[str, Any]
    ) -> TrainState:
        """A training step; the state after it.

        Raises:
          RunFailedError: A check failed.
        """
        eager = self.attempt(lambda: eager_step(self.trainer, state, batch))
        found = self.write(eager)
        after, compiled = checked_step(self.trainer, state, batch, programs)
        self.judge(found, eager, compiled)
        self.tell(
            found,
            eager.report,
            compiled,
            format_values({"loss": compiled.report["loss"]}),
        )
        return after

    def evaluate(self, name: str, evaluator: Evaluator, state: TrainState) -> None:
        """One batch of an evaluator.

        Raises:
          RunFailedError: A check failed.
        """
        given = self.trainer.given
        measured = evaluator.measured(name, given)
        data = evaluator.filled(given).data
        assert measured is not None and data is not None  # `Trainer.check` saw to it
        part = "eval_data" if evaluator.data is None else f"evaluators.{name}.data"
        seed = derived_seed(given.seed, part)
        with contextlib.closing(data.batches(default_seed=seed)) as batches:
            batch = next(batches)
        parts = (self.trainer, measured, state, batch)
        eager = self.attempt(lambda: eager_evaluation(*parts))
        found = self.write(eager)
        compiled = checked_evaluation(*parts)
        self.judge(found, eager, compiled)
        numbers = {
            name: value
            for name, value in eager.context["metrics"].items()
            if isinstance(value, float)
        }
        self.tell(found, numbers, compiled, format_values(compiled.context["metrics"]))

    def attempt(self, run: Callable[[], Seen]) -> Seen:
        """What a call without jit computed.

        Raises:
          RunFailedError: It raised.
        """
        try:
            return run()
        except NamedAxisError as error:
            lines = (f"{self.what}: {error.lines[0]}", *error.lines[1:])
            raise RunFailedError(*lines) from error
        except UserError:
            raise
        except Exception as error:
            said = str(error).splitlines()[:4] or [""]
            raise RunFailedError(
                f"{self.what} failed without jit: {type(error).__name__}: {said[0]}",
                *(f"  {line}" for line in said[1:]),
                *(f"  at {line}" for line in source_lines(error.__traceback__)),
            ) from error

    def write(self, seen: Seen) -> list[Value]:
        """All values, which are written down as well."""
        found = values(seen.context, self.axes)
        self.notes.write(self.file, table(found))
        return found

    def judge(self, found: Sequence[Value], eager: Seen, compiled: Seen) -> None:
        """Refuses what a check or a number says is wrong.

        Raises:
          RunFailedError: With check, source line, module and key paths.
        """
        # A loss scale overflows as a matter of course, and the step is left out.
        scaled = self.trainer.loss_scale is not None
        must = _MUST_BE_FINITE[: 2 if scaled else None]
        wrong = [
            value
            for value in found
            if value.key.split(".")[0].split("[")[0] in must
            and value.count(lambda numbers: ~np.isfinite(numbers))
        ]
        failure, module = compiled.failure, eager.not_finite
        if failure is None and module is None and not wrong:
            return
        if failure is not None:
            what = failure.what
        elif module is not None:
            what = "NaN"
        else:
            what = f"{wrong[0].key} is not finite: {wrong[0].numbers_text()}"
        nan = [value for value in found if value.count(np.isnan)]
        told = ", ".join(
            f"{value.key} ({value.count(np.isnan):,} of {value.array.size:,})"
            for value in nan[:_KEYS_TOLD]
        )
        more = f" and {len(nan) - _KEYS_TOLD} more" if len(nan) > _KEYS_TOLD else ""
        raise RunFailedError(
            f"{self.what}: {what}",
            *(f"at {line}" for line in (failure.source if failure else ())),
            *([module.line()] if module else []),
            *([f"NaN at key paths: {told}{more}"] if nan else []),
            f"every value: {self.notes.folder / self.file}",
        )

    def tell(
        self,
        found: Sequence[Value],
        numbers: Mapping[str, float],
        compiled: Seen,
        compiled_as: str,
    ) -> None:
        """A line of what it came to, and of what could not be checked."""
        finite = sum(not v.count(lambda n: ~np.isfinite(n)) for v in found)
        all_or = "all" if finite == len(found) else f"{finite} of them"
        self.notes.say(
            f"{self.what}: {format_values(numbers)}; {len(found)} key paths, {all_or} "
            f"finite; compiled and checked: {compiled_as}"
        )
        if compiled.unchecked:
            self.notes.say(
                f"{self.what}: checkify cannot check this: {compiled.unchecked}"
            )


def _run_other(
    watched: _Watched, name: str, evaluator: AnyEvaluator, state: TrainState, stop: Stop
) -> bool:
    """An evaluator of another kind, as a run has it; False where it was stopped."""
    evaluation = watched.trainer.evaluations[name]
    with named_axes.refusing():
        try:
            done = evaluation(state, step=int(state.step), stop=stop, in_flight=1)
        except EvaluationStoppedError:
            return False
        except NamedAxisError as error:
            lines = (f"{watched.what}: {error.lines[0]}", *error.lines[1:])
            raise RunFailedError(*lines) from error
    watched.notes.write(watched.file, [repr(text) for text in done.texts])
    watched.notes.say(
        f"{watched.what}: {format_values(done.values)}; a {type(evaluator).__name__} "
        "runs compiled and without run-time checks"
    )
    return True


def _show_batch(notes: _Notes, batch: Mapping[str, Any], data: Pipeline) -> None:
    """The first batch: its arrays, and the first rows as a person reads them."""
    there = jax.device_get(dict(batch))
    tokenizer = data.tokenizer()
    count = min(_ROWS_SHOWN, len(next(iter(there.values()))))
    rows = [
        example_text({name: array[row] for name, array in there.items()}, tokenizer)
        for row in range(count)
    ]
    found = values({"batch": there}, {})
    lines = table(found, first=True)
    lines += [f"row {number}: {text!r}" for number, text in enumerate(rows)]
    notes.write("batch.txt", lines)
    for line in table(found):
        notes.say(line)
    if tokenizer is not None and rows:
        notes.say(f"row 0: {rows[0][:60]!r}{' …' * (len(rows[0]) > 60)}")


class _Notes:
    """What is told on a stream, and kept in the folder.

    Attributes:
      folder: Where the texts of an earlier debugging run are removed.
    """

    def __init__(self, folder: epath.Path, stream: TextIO):
        self.folder = folder
        self._stream = stream
        self._said: list[str] = []
        with self._writing():
            folder.mkdir(parents=True, exist_ok=True)
            for path in folder.glob("*.txt"):
                path.unlink()

    def say(self, line: str) -> None:
        """Tells a line, and keeps it."""
        print(line, file=self._stream, flush=True)
        self.keep(line)

    def keep(self, line: str) -> None:
        """Keeps a line that is told elsewhere."""
        self._said.append(line)
        self.write("report.txt", self._said)

    def write(self, name: str, lines: Sequence[str]) -> None:
        """Writes a file."""
        with self._writing():
            (self.folder / name).write_text("".join(f"{line}\n" for line in lines))

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise RunFailedError(
                f"{self.folder} cannot be written: {error.strerror or error}"
            ) from error
