"""How a run shows itself on stderr: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from fdlkit.train.evaluators import NOT_NAMES
from fdlkit.train.progress import LineProgress, format_values
from fdlkit.train.progress import Progress as TrainProgress

# What a bar or a line has room for; `metrics.jsonl` has everything.
SHOWN = ("loss", "grad_norm", "learning_rate", "steps_per_sec")


class TerminalProgress:
    """A bar with the newest numbers; a context manager.

    Attributes of a run that scroll by (evaluations, saves) are printed above it.
    """

    def __init__(self, stream: TextIO, num_train_steps: int):
        self._bar = Progress(
            TextColumn("step"),
            MofNCompleteColumn(),
            BarColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[numbers]}"),
            console=Console(file=stream),
        )
        self._task = self._bar.add_task("train", total=num_train_steps, numbers="")

    def __enter__(self) -> TerminalProgress:
        self._bar.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def say(self, text: str) -> None:
        """Prints a line above the bar."""
        self._bar.console.print(text, markup=False, highlight=False)

    def update(self, step: int, values: Mapping[str, float]) -> None:
        """Moves the bar; an evaluation's numbers stay, above it."""
        if any(map(of_evaluation, values)):
            self.say(f"step {step}  {format_values(values)}")
            return
        self._bar.update(
            self._task, completed=step, numbers=format_values(shown(values))
        )


class TextProgress:
    """A line a log point; a context manager."""

    def __init__(self, stream: TextIO, num_train_steps: int):
        self._lines = LineProgress(stream=stream, num_train_steps=num_train_steps)

    def __enter__(self) -> TextProgress:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        return None

    def say(self, text: str) -> None:
        """Prints the line."""
        self._lines.say(text)

    def update(self, step: int, values: Mapping[str, float]) -> None:
        """Prints step and numbers."""
        self._lines.update(step, shown(values))


def shown(values: Mapping[str, float]) -> dict[str, float]:
    """The numbers there is room for: all of an evaluation, the main ones of a step."""
    return {n: v for n, v in values.items() if n in SHOWN or of_evaluation(n)}


def of_evaluation(name: str) -> bool:
    """Whether a number is an evaluator's: it is logged as `NAME/metric`."""
    evaluator, slash, _ = name.partition("/")
    return bool(slash) and evaluator not in NOT_NAMES


def progress_for(
    stream: TextIO, num_train_steps: int
) -> AbstractContextManager[TrainProgress]:
    """A bar if the stream is a terminal, else lines."""
    if stream.isatty():
        return TerminalProgress(stream, num_train_steps)
    return TextProgress(stream, num_train_steps)
