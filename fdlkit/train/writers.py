"""Where logged numbers go. Writers run on a thread of their own."""

from __future__ import annotations

import dataclasses
import json
import math
import queue
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from etils import epath

from fdlkit.errors import RunFailedError, UserError
from fdlkit.train.histograms import Bars

Values = Mapping[str, float | Bars]


class Sink(Protocol):
    """A place that numbers are being written to."""

    def write(self, step: int, values: Values) -> None:
        """Keeps the numbers of a step."""

    def flush(self) -> None:
        """Returns once all that was written would survive a kill."""

    def close(self) -> None:
        """Ends; nothing is written after this."""


@dataclasses.dataclass(frozen=True)
class SampleText:
    """A text that a model wrote.

    Attributes:
      prompt: What it goes on from.
      text: What follows the prompt.
      finish: Why there is no more: `end`, the model ended it, or `length`.
    """

    prompt: str
    text: str
    finish: str

    def shown(self) -> str:
        """The text on a line, its end left out where it is long."""
        whole = repr(self.prompt + self.text)
        return whole if len(whole) <= 100 else f"{whole[:99]}…"


@runtime_checkable
class TextSink(Protocol):
    """What a sink has besides if it also keeps texts."""

    def write_texts(self, step: int, name: str, texts: Sequence[SampleText]) -> None:
        """Keeps what the model wrote for the evaluator of a name, after a step."""


class Writer(Protocol):
    """A kind of place; what a config holds. Whoever inherits it needs only `open`."""

    def check(self) -> None:
        """Refuses what can be refused before a run, touching nothing.

        Raises:
          UserError: What is missing on this machine, and how to get it.
        """
        return

    def open(self, workdir: epath.Path, step: int) -> Sink:
        """Begins to write in a workdir, after cutting back what is there.

        Numbers of steps after `step` belong to a run that was stopped and will be
        written again.
        """


@dataclasses.dataclass(frozen=True, kw_only=True)
class JsonLines(Writer):
    """One JSON object a line, with `step` and plain names such as `loss`.

    A number that is not finite is written as a string, since JSON has none; a
    histogram as an object of what sums it up (`Bars.summary`).

    Attributes:
      name: The file's name in the workdir.
    """

    name: str = "metrics.jsonl"

    def open(self, workdir: epath.Path, step: int) -> Sink:
        """Cuts the file back to `step`, in one move, and appends to it."""
        path = workdir / self.name
        cut_back(path, step)
        return _JsonLinesSink(path)

    def has(self, workdir: epath.Path, step: int, prefix: str) -> bool:
        """Whether a line of this step has a name that begins with `prefix`."""
        path = workdir / self.name
        lines = _lines(path) if path.exists() else []
        values = [json.loads(line) for line in lines if _is_kept(line, step)]
        return any(
            entry["step"] == step and any(name.startswith(prefix) for name in entry)
            for entry in values
        )

    def history(
        self, workdir: epath.Path, step: int, name: str
    ) -> list[tuple[int, float]]:
        """What was written under a name up to a step: each step, and its number."""
        path = workdir / self.name
        # Not one JSON object more is read than can have it: a run may be long.
        written = json.dumps(name)
        lines = _lines(path) if path.exists() else []
        lines = [line for line in lines if written in line]
        values = [json.loads(line) for line in lines if _is_kept(line, step)]
        return [
            (entry["step"], float(entry[name]))
            for entry in values
            # A histogram may have had the name.
            if name in entry and not isinstance(entry[name], dict)
        ]


def cut_back(path: epath.Path, step: int) -> None:
    """Leaves out of a file of JSON lines, if there is one, those of later steps."""
    if not path.exists():
        return
    lines = _lines(path)
    kept = [line for line in lines if _is_kept(line, step)]
    if kept != lines:
        beside = path.parent / f".{path.name}.cut"
        beside.write_text("".join(kept))
        beside.replace(path)


def _lines(path: epath.Path) -> list[str]:
    text = path.read_bytes().decode(errors="replace")
    return text.splitlines(keepends=True)


def _is_kept(line: str, step: int) -> bool:
    try:
        return line.endswith("\n") and json.loads(line)["step"] <= step
    except (ValueError, KeyError, TypeError, RecursionError):
        # The line that a kill cut in half; its step is going to be run again.
        return False


class _JsonLinesSink:
    def __init__(self, path: epath.Path):
        self._file = path.open("a")

    def write(self, step: int, values: Values) -> None:
        line = {"step": step} | {k: json_value(v) for k, v in values.items()}
        self._file.write(json.dumps(line, allow_nan=False) + "\n")
        self._file.flush()

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def json_value(value: float | Bars) -> Any:
    """What JSON has for a number, or for a histogram."""
    if isinstance(value, Bars):
        return {name: json_value(number) for name, number in value.summary().items()}
    return value if math.isfinite(value) else str(value)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TensorBoard(Writer):
    """TensorBoard events: numbers, histograms, and the config as texts.

    Each number is a scalar, each `Bars` (see `fdlkit.train.histograms`) a histogram.
    At the beginning of a run each line of its record's `config.txt` becomes a text
    `config/PATH`.

    Attributes:
      name: The folder's name in the workdir.
    """

    name: str = "tensorboard"

    def open(self, workdir: epath.Path, step: int) -> Sink:
        """Appends events; TensorBoard hides earlier ones of steps after `step`."""
        # Not before a run needs it: a config that is only looked at does not.
        from tensorboardX import SummaryWriter

        events = SummaryWriter(
            str(workdir / self.name),
            purge_step=step + 1,
            # A file is named by the second it was opened in: two starts in one
            # second would write over each other.
            filename_suffix=f".from-{step}",
        )
        if step == 0:
            for path, text in config_leaves(workdir).items():
                events.add_text(f"config/{path}", text, 0)
        return _TensorBoardSink(events)


class _TensorBoardSink:
    def __init__(self, events: Any):
        self._events = events

    def write(self, step: int, values: Values) -> None:
        for name, value in values.items():
            if isinstance(value, Bars):
                self._events.add_histogram_raw(
                    name,
                    min=value.least,
                    max=value.most,
                    num=value.count,
                    sum=value.total,
                    sum_squares=value.squares,
                    bucket_limits=value.limits,
                    bucket_counts=value.counts,
                    global_step=step,
                )
            elif math.isfinite(value):  # the writer warns of every other one
                self._events.add_scalar(name, value, step)

    def write_texts(self, step: int, name: str, texts: Sequence[SampleText]) -> None:
        for number, sample in enumerate(texts):
            # Indented, it is shown as it is, and not as Markdown.
            lines = (sample.prompt + sample.text).splitlines()
            shown = "".join(f"    {line}\n" for line in lines)
            self._events.add_text(f"{name}/{number}", shown, step)

    def flush(self) -> None:
        self._events.flush()

    def close(self) -> None:
        self._events.close()


def config_leaves(workdir: epath.Path) -> dict[str, str]:
    """The lines `PATH = VALUE` of a run's `record/config.txt`; none where it has none.

    A trainer that is used without the command keeps only the record it is given.
    """
    path = workdir / "record" / "config.txt"
    if not path.exists():
        return {}
    pairs = (line.partition(" = ") for line in path.read_text().splitlines())
    return {name: value for name, _, value in pairs}


class WriterThread:
    """Writes to several sinks, in order, away from the training loop.

    A context manager: leaving it writes what is left. What a sink raised ends the run
    with a `RunFailedError` at the next `flush` or on leaving.
    """

    def __init__(self, writers: Sequence[Writer], workdir: epath.Path, step: int):
        self._sinks: list[tuple[str, Sink]] = []
        for writer in writers:
            name = type(writer).__name__
            try:
                self._sinks.append((name, writer.open(workdir, step)))
            except UserError:
                raise
            except Exception as error:  # a service's client raises what it likes
                raise RunFailedError(
                    f"the writer {name} cannot begin in {workdir}",
                    f"{type(error).__name__}: {error}",
                    "the run has not begun: mend that, or leave the writer out",
                ) from error
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        # The writer's name, and what it raised.
        self._error: tuple[str, BaseException] | None = None
        self._thread = threading.Thread(
            target=self._run, name="fdlkit-writers", daemon=True
        )
        self._thread.start()

    def __enter__(self) -> WriterThread:
        return self

    def __exit__(self, exc_type: object, *rest: object) -> None:
        self._queue.put(None)
        self._thread.join()
        for name, sink in self._sinks:
            try:
                sink.close()
            except Exception as error:  # noqa: BLE001 - raised below
                self._error = self._error or (name, error)
        if exc_type is None:
            self._raise()

    def write(self, step: int, values: Values) -> None:
        """Hands numbers over; returns at once."""
        self._queue.put((step, values))

    def write_texts(self, step: int, name: str, texts: Sequence[SampleText]) -> None:
        """Hands texts over, to the sinks that keep some; returns at once."""
        self._queue.put((step, name, texts))

    def flush(self) -> None:
        """Returns when all that was handed over is kept."""
        done = threading.Event()
        self._queue.put(done)
        done.wait()
        self._raise()

    def _raise(self) -> None:
        if self._error is not None:
            (name, error), self._error = self._error, None
            raise RunFailedError(
                f"the logged numbers could not be written by the writer {name}",
                f"{type(error).__name__}: {error}",
                "the run goes on from its last checkpoint",
            ) from error

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            for name, sink in self._sinks:
                try:
                    if isinstance(item, threading.Event):
                        sink.flush()
                    elif len(item) == 2:
                        sink.write(*item)
                    elif isinstance(sink, TextSink):
                        sink.write_texts(*item)
                except BaseException as error:  # noqa: BLE001 - raised by the loop
                    self._error = self._error or (name, error)
            if isinstance(item, threading.Event):
                item.set()
