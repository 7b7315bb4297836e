"""Evaluating a checkpoint of a run, without the run."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Literal

from etils import epath

from fdlkit.errors import UserError
from fdlkit.train.checkpoints import (
    BEST_FILE,
    CheckpointPolicy,
    Checkpoints,
    saved_steps,
)
from fdlkit.train.evaluation import Evaluation
from fdlkit.train.progress import Progress
from fdlkit.train.setup import Setup, programs_at_once
from fdlkit.train.stop import Stop
from fdlkit.train.writers import SampleText

Chosen = int | Literal["last", "best"]


@dataclasses.dataclass(frozen=True)
class EvaluatedCheckpoint:
    """What evaluators say of a checkpoint.

    Attributes:
      step: How many updates it has.
      values: Numbers as a run logs them, `NAME/metric`.
      texts: What the model wrote, by the evaluator's name.
    """

    step: int
    values: Mapping[str, float]
    texts: Mapping[str, Sequence[SampleText]] = dataclasses.field(default_factory=dict)


def evaluate_checkpoint(
    evaluations: Mapping[str, Evaluation],
    setup: Setup,
    *,
    workdir: epath.Path,
    step: int,
    stop: Stop,
    progress: Progress,
) -> EvaluatedCheckpoint:
    """Restores a checkpoint and has each evaluator evaluate it; changes nothing.

    Args:
      evaluations: What the evaluators do, by name.
      setup: Of a run as the one that saved it.
      workdir: Of that run, which may be going on.
      step: One that is saved there.
      stop: Looked at often.
      progress: Is told how it goes.

    Raises:
      RunFailedError: The checkpoint is damaged, or of another model.
      EvaluationStoppedError: `stop` was requested.
    """
    folder = workdir / "checkpoints"
    with Checkpoints(folder, CheckpointPolicy(keep=None), read_only=True) as saved:
        state, _ = saved.restore(step, like=setup.state, shardings=setup.shardings)
    state = setup.completed(state)
    values: dict[str, float] = {}
    texts: dict[str, Sequence[SampleText]] = {}
    for name, evaluation in evaluations.items():
        progress.say(f"evaluating step {step} ({name})")
        found = evaluation(
            state, step=step, stop=stop, in_flight=programs_at_once(setup.mesh)
        )
        if found.note is not None:
            progress.say(f"{name}: {found.note}")
        own = {f"{name}/{key}": value for key, value in found.values.items()}
        if found.texts:
            texts[name] = found.texts
            progress.say(f"{name}: {found.texts[0].shown()}")
        progress.update(step, own)
        values |= own
    return EvaluatedCheckpoint(step, values, texts)


def chosen_step(workdir: epath.Path, which: Chosen) -> int:
    """The step of the checkpoint that is meant.

    Args:
      workdir: Of a run.
      which: A step, `last`, or `best`, the one that `best.json` names.

    Raises:
      UserError: There is none.
    """
    steps = sorted(saved_steps(workdir / "checkpoints"))
    if not steps:
        raise UserError(
            f"there is no checkpoint in {workdir} yet",
            "a run's first is saved after `checkpoints.every` steps, or when it ends",
        )
    if which == "last":
        return steps[-1]
    if which == "best":
        path = workdir / BEST_FILE
        if not path.exists():
            raise UserError(
                f"{workdir} does not say which of its checkpoints is the best",
                "a run does with keep_best=KeepBest()",
                f"checkpoints: {', '.join(map(str, steps))}",
            )
        which = _step_in(path)
        if which not in steps:
            raise UserError(
                f"{path} names step {which}, of which there is no checkpoint",
                f"checkpoints: {', '.join(map(str, steps))}",
            )
    if which not in steps:
        raise UserError(
            f"{workdir} has no checkpoint of step {which}",
            f"checkpoints: {', '.join(map(str, steps))}",
        )
    return which


def _step_in(path: epath.Path) -> int:
    try:
        return int(json.loads(path.read_text())["step"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{path} cannot be read: {type(error).__name__}: {error}",
            "name the step itself",
        ) from error
