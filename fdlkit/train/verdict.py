"""What the evaluations of a run have decided so far."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from etils import epath
from jax.experimental import multihost_utils

from fdlkit import suggest
from fdlkit.errors import RunFailedError
from fdlkit.train.checkpoints import saved_steps
from fdlkit.train.goals import Goal, KeepBest, StopEarly, best_of
from fdlkit.train.histograms import Bars
from fdlkit.train.writers import JsonLines, Values


class Verdict:
    """Follows the metrics that `keep_best` and `stop_early` go by.

    It begins with what `metrics.jsonl` has up to the step that the run goes on from,
    which is written before a checkpoint of that step is.

    Attributes:
      reason: Why the run ends here; None: it goes on.
    """

    def __init__(
        self,
        keep_best: KeepBest | None,
        stop_early: StopEarly | None,
        *,
        workdir: epath.Path,
        step: int,
    ):
        """Reads what was evaluated.

        Args:
          keep_best: The trainer's.
          stop_early: The trainer's.
          workdir: Of the run.
          step: That it goes on from.
        """
        self._keep_best = keep_best
        self._stop_early = stop_early
        fields = {"keep_best": keep_best, "stop_early": stop_early}
        self._goals: dict[str, Goal] = {
            field: goal for field, goal in fields.items() if goal is not None
        }
        log = JsonLines()
        self._history = {
            goal.metric: log.history(workdir, step, goal.metric)
            for goal in self._goals.values()
        }
        self._best: tuple[int, float] | None = None
        if keep_best is not None:
            # One whose checkpoint somebody removed is the best no longer.
            self._best = best_of(
                keep_best,
                self._history[keep_best.metric],
                among=saved_steps(workdir / "checkpoints"),
            )
        self.reason = self._reason()

    @property
    def best_step(self) -> int | None:
        """The step that evaluated best, or None."""
        return None if self._best is None else self._best[0]

    @property
    def best(self) -> dict[str, Any]:
        """What `best.json` says of it; empty where there is none."""
        if self._keep_best is None or self._best is None:
            return {}
        goal = self._keep_best
        return {"metric": goal.metric, "mode": goal.mode, "value": self._best[1]}

    def see(self, step: int, evaluator: str, values: Values) -> None:
        """Takes what an evaluator logs at a step.

        Raises:
          RunFailedError: A goal's metric is not among it, or no number.
        """
        for field, goal in self._goals.items():
            if goal.metric.startswith(f"{evaluator}/") and goal.metric not in values:
                meant = suggest.hint(goal.metric, values)
                raise RunFailedError(
                    f"{field}.metric={goal.metric!r}: no such number was logged",
                    *([meant] if meant else []),
                    f"logged: {', '.join(values)}",
                )
            if isinstance(values.get(goal.metric), Bars):
                numbers = [n for n, v in values.items() if not isinstance(v, Bars)]
                raise RunFailedError(
                    f"{field}.metric={goal.metric!r} is a histogram, of which none is "
                    "better than another",
                    f"numbers: {', '.join(numbers)}",
                )
        for metric, history in self._history.items():
            if metric in values:
                value = values[metric]
                assert not isinstance(value, Bars)
                history.append((step, agreed(value)))
                if self._keep_best is not None and self._keep_best.metric == metric:
                    self._take_best(self._keep_best, *history[-1])
        self.reason = self._reason()

    def _take_best(self, goal: KeepBest, step: int, value: float) -> None:
        if goal.is_better(value, None if self._best is None else self._best[1]):
            self._best = step, value

    def _reason(self) -> str | None:
        goal = self._stop_early
        return None if goal is None else goal.reason(self._history[goal.metric])


def agreed(value: float) -> float:
    """The first process's value, so that all processes decide alike."""
    if jax.process_count() == 1:
        return value
    # As bits: JAX would make a float32 of it.
    bits = np.asarray([value], np.float64).view(np.uint32)
    same = multihost_utils.broadcast_one_to_all(bits)
    return float(np.asarray(same, np.uint32).view(np.float64)[0])
