"""`fdlkit train`: from a config to a run in a workdir, and to an exit code."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Sequence
from typing import Any, TextIO

import fiddle as fdl
import jax
from jax.experimental import multihost_utils

from fdlkit.errors import UserError
from fdlkit.graph.build import build
from fdlkit.graph.snapshot import snapshot
from fdlkit.run import compile_cache, workdir
from fdlkit.run.distributed import Distributed, join, leave
from fdlkit.run.lifecycle import exit_code
from fdlkit.run.preflight import preflight
from fdlkit.run.progress import progress_for
from fdlkit.run.record import make_record
from fdlkit.serialize.writing import dumps
from fdlkit.train.progress import NoProgress
from fdlkit.train.stop import Stop
from fdlkit.train.trainer import Trainer
from fdlkit.view import flat


def train(
    cfg: Any,
    *,
    target: str,
    argv: Sequence[str],
    directory: str,
    stop: Stop,
    fresh: bool = False,
    dry_run: bool = False,
    check: str = "fast",
    distributed: Distributed | None = None,
    stream: TextIO | None = None,
) -> int:
    """Trains, or goes on with, the run of a config in a workdir.

    Args:
      cfg: A config of a `Trainer`.
      target: What the user named, for the record.
      argv: The command line, for the record.
      directory: The workdir.
      stop: Is set by whoever wants the run to end.
      fresh: Throw away the run that is there.
      dry_run: Check everything that needs no device, and write nothing.
      check: What is checked before a device is touched, see `preflight`.
      distributed: This process among several.
      stream: Where talk goes; stderr unless given.

    Returns:
      0: trained to the end (or had been); 75 or 130: stopped, start again to go on.

    Raises:
      UserError: The run cannot begin; nothing was compiled or written.
      RunFailedError: A loss or gradient was not finite.
    """
    stream = stream or sys.stderr
    if distributed is not None:
        join(distributed)
    try:
        return _train(
            cfg,
            target=target,
            argv=argv,
            directory=directory,
            stop=stop,
            fresh=fresh,
            dry_run=dry_run,
            check=check,
            is_first=distributed is None or distributed.process_id == 0,
            stream=stream,
        )
    finally:
        leave(distributed)


def _train(
    cfg: Any,
    *,
    target: str,
    argv: Sequence[str],
    directory: str,
    stop: Stop,
    fresh: bool,
    dry_run: bool,
    check: str,
    is_first: bool,
    stream: TextIO,
) -> int:
    trainer = built_trainer(cfg, target)
    path = workdir.as_path(directory)
    graph = snapshot(cfg)
    as_text = "".join(f"{line}\n" for line in flat.lines(graph))
    record = make_record(dumps(cfg), as_text, target=target, argv=argv)
    changes = None if fresh else workdir.changes_since(path, graph)
    if changes is not None:
        workdir.refuse_another_run(path, changes)
    # Everything that can be refused is refused here, before anything is written.
    preflight(
        cfg,
        trainer,
        check=check,
        workdir=directory,
        stream=stream if is_first else None,
    )
    compile_cache.turn_on()
    first_process = jax.process_index() == 0
    trainer.check()
    say = [summary(trainer), *(workdir.notes(changes or [], graph))]
    if dry_run:
        print("\n".join([*say, "checked; nothing was run or written"]), file=stream)
        return 0
    with contextlib.ExitStack() as around:
        if first_process:
            around.enter_context(workdir.held(path))
            if fresh:
                workdir.clear(path)
        if fresh and jax.process_count() > 1:
            multihost_utils.sync_global_devices("the workdir is clear")
        shown = around.enter_context(progress_for(stream, trainer.num_train_steps))
        progress = shown if first_process else NoProgress()
        for line in say:
            progress.say(line)
        result = trainer.train(path, record, stop=stop, progress=progress)
        code = exit_code(stop, finished=result.finished)
        if not result.finished:
            progress.say(
                f"stopped at step {result.step} of {trainer.num_train_steps}; "
                "the same command goes on from there"
                if result.saved
                else "stopped before there was anything to save"
            )
        return code or (0 if result.finished else 75)


def built_trainer(cfg: Any, target: str) -> Trainer:
    """What the config of an experiment builds.

    Raises:
      UserError: It is none, or cannot be built.
    """
    if isinstance(cfg, fdl.Partial):  # before anything is built for nothing
        raise UserError(
            f"{target} is a {type(cfg).__name__}, which builds a function, "
            "not an experiment",
            "fdlkit train takes a fdl.Config of fdlkit.train.trainer.Trainer",
        )
    trainer = build(cfg)
    if not isinstance(trainer, Trainer):
        raise UserError(
            f"{target} builds a {type(trainer).__name__}, not an experiment",
            "fdlkit train takes a config of fdlkit.train.trainer.Trainer",
        )
    return trainer


def quiet_checkpoint_threads() -> None:
    """Keeps the tracebacks of Orbax's threads from a person's eyes, for good.

    For a process that is all one run: it changes the process's loggers and hook.

    When a save fails, Orbax, asyncio and TensorStore each log what was raised or what
    they could no longer deliver to an event loop that has ended; the error itself
    reaches the run, which tells it in its own words.
    """
    for name in ("absl", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    show = sys.unraisablehook

    def show_others(unraisable: Any) -> None:
        if str(unraisable.exc_value) != "Event loop is closed":
            show(unraisable)

    sys.unraisablehook = show_others


def summary(trainer: Trainer) -> str:
    """Size of the model, mesh and batch, in one line."""
    setup = trainer.setup
    sizes = [leaf.size for leaf in jax.tree.leaves(setup.state.params)]
    axes = [f"{a}={n}" for a, n in setup.mesh.shape.items() if n > 1]
    return (
        f"{sum(sizes):,} parameters, batch {trainer.train_data.batch_size}, "
        f"{setup.mesh.size} device{'s' * (setup.mesh.size > 1)}"
        f"{' (' + ', '.join(axes) + ')' if axes else ''}, "
        f"{trainer.num_train_steps:,} steps"
    )
