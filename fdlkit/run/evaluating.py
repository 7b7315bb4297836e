"""`fdlkit train --eval_only`: what a checkpoint of a run is worth."""

from __future__ import annotations

import json
import sys
from typing import Any, TextIO

import jax
from etils import epath

from fdlkit.errors import RunFailedError
from fdlkit.graph.snapshot import snapshot
from fdlkit.run import compile_cache, workdir
from fdlkit.run.distributed import Distributed, join, leave
from fdlkit.run.launch import built_trainer
from fdlkit.run.lifecycle import exit_code
from fdlkit.run.preflight import preflight
from fdlkit.run.progress import TextProgress
from fdlkit.train.evaluation import EvaluationStoppedError
from fdlkit.train.progress import NoProgress
from fdlkit.train.samples_file import sample_lines
from fdlkit.train.standalone import Chosen, EvaluatedCheckpoint, chosen_step
from fdlkit.train.stop import Stop
from fdlkit.train.writers import json_value

FOLDER = "evaluations"


def evaluate(
    cfg: Any,
    *,
    target: str,
    directory: str,
    which: Chosen,
    stop: Stop,
    dry_run: bool = False,
    check: str = "fast",
    distributed: Distributed | None = None,
    stream: TextIO | None = None,
) -> tuple[int, str]:
    """Evaluates a checkpoint of the run in a workdir, which may be going on.

    What it comes to is kept in `evaluations/STEP.json` of the workdir, and texts that
    the model wrote in `STEP.samples.jsonl` beside it; nothing else there is touched.

    Args:
      cfg: A config of a `Trainer`.
      target: What the user named.
      directory: The workdir.
      which: The checkpoint.
      stop: Is set by whoever wants it to end.
      dry_run: Check everything that needs no device, and write nothing.
      check: What is checked before a device is touched, see `preflight`.
      distributed: This process among several.
      stream: Where talk goes; stderr unless given.

    Returns:
      The exit code (0; 75 or 130: stopped) and the numbers as one line of JSON, empty
      in any but the first process.

    Raises:
      UserError: It cannot begin; nothing was compiled or written.
      RunFailedError: The checkpoint is damaged, or of another model.
    """
    stream = stream or sys.stderr
    if distributed is not None:
        join(distributed)
    try:
        trainer = built_trainer(cfg, target)
        path = workdir.as_path(directory)
        step = chosen_step(path, which)
        changes = workdir.changes_since(path, snapshot(cfg))
        workdir.refuse_another_run(path, changes or [], trains=False)
        is_first = jax.process_index() == 0
        preflight(
            cfg,
            trainer,
            check=check,
            workdir=directory,
            stream=stream if is_first else None,
        )
        compile_cache.turn_on()
        if dry_run:
            trainer.check_evaluations()
            print("checked; nothing was evaluated or written", file=stream)
            return 0, ""
        progress = (
            TextProgress(stream, trainer.num_train_steps) if is_first else NoProgress()
        )
        try:
            found = trainer.evaluate(path, step, stop=stop, progress=progress)
        except EvaluationStoppedError:
            progress.say("the evaluation was interrupted; nothing was written")
            return exit_code(stop, finished=False), ""
        if not is_first:
            return 0, ""
        line = as_json(found)
        keep(path, found, line)
        return 0, line
    finally:
        leave(distributed)


def as_json(found: EvaluatedCheckpoint) -> str:
    """A line as `metrics.jsonl` has them; a number that is not finite is a string."""
    values = {name: json_value(value) for name, value in found.values.items()}
    return json.dumps({"step": found.step, **values}, allow_nan=False) + "\n"


def keep(path: epath.Path, found: EvaluatedCheckpoint, line: str) -> None:
    """Writes what a checkpoint came to, each file whole or not at all.

    Raises:
      RunFailedError: It cannot be written.
    """
    folder = path / FOLDER
    try:
        folder.mkdir(parents=True, exist_ok=True)
        texts = "".join(
            sample_lines(found.step, name, texts) for name, texts in found.texts.items()
        )
        # The numbers last: where they are, so are the texts.
        for name, text in (("samples.jsonl", texts), ("json", line)):
            beside = folder / f".{found.step}.{name}.new"
            if text:
                beside.write_text(text)
                beside.replace(folder / f"{found.step}.{name}")
    except OSError as error:
        raise RunFailedError(
            f"what was evaluated cannot be written in {folder}: "
            f"{error.strerror or error}"
        ) from error
