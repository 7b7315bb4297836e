"""What a metric of evaluations decides: which checkpoint is the best, when to stop.

Decisions are functions of the evaluations so far, which `metrics.jsonl` holds: there
is no state to be saved, and a run that goes on decides as if it had never stopped.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Sequence
from typing import Literal, get_args

from fdlkit import suggest

Mode = Literal["min", "max"]

# The evaluations of a metric, in their order: the step, and what it came to.
History = Sequence[tuple[int, float]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Goal:
    """A metric of an evaluator, and whether less or more of it is better.

    Attributes:
      metric: As it is logged: `NAME/metric`, NAME being the evaluator's.
      mode: Which is better: `min`, less, or `max`, more.
    """

    metric: str = "eval/loss"
    mode: Mode = "min"

    def __post_init__(self) -> None:
        if self.mode not in get_args(Mode):
            meant = suggest.hint(str(self.mode), get_args(Mode))
            raise ValueError(
                f"mode={self.mode!r} is neither 'min' nor 'max'"
                + (f"; {meant}" if meant else "")
            )

    def is_better(self, value: float, best: float | None, *, by: float = 0.0) -> bool:
        """Whether a value is better than the best so far, by more than `by`.

        What is not finite is never better.
        """
        if not math.isfinite(value):
            return False
        if best is None:
            return True
        return value < best - by if self.mode == "min" else value > best + by


@dataclasses.dataclass(frozen=True, kw_only=True)
class KeepBest(Goal):
    """Keeps the checkpoint that evaluated best, whatever else is removed.

    A state that evaluates better than all before it is saved at once. `best.json` in
    the workdir says which step it is. Of equals, the first is the best.
    """


@dataclasses.dataclass(frozen=True, kw_only=True)
class StopEarly(Goal):
    """Ends the run before its last step.

    Attributes:
      patience: How many evaluations in a row may bring nothing better; None: any.
      min_delta: By how much more than this a value has to be better to count.
      reaches: The run ends as soon as the metric is this good; None: it need not be.
    """

    patience: int | None = None
    min_delta: float = 0.0
    reaches: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.patience is None and self.reaches is None:
            raise ValueError(
                "patience=None and reaches=None: the run would never stop early; "
                "give one of them"
            )
        if self.patience is not None and self.patience < 1:
            raise ValueError(
                f"patience={self.patience}: it counts evaluations, so at least 1"
            )
        if not 0 <= self.min_delta < math.inf:
            raise ValueError(
                f"min_delta={self.min_delta}: a value is better by 0 or more"
            )
        if self.reaches is not None and math.isnan(self.reaches):
            raise ValueError("reaches=nan: no value is ever that good")

    def reason(self, history: History) -> str | None:
        """Why to stop after these evaluations; None: go on."""
        if not history:
            return None
        _, value = history[-1]
        if self.reaches is not None and math.isfinite(value):
            reached = (
                value <= self.reaches if self.mode == "min" else value >= self.reaches
            )
            if reached:
                return f"{self.metric} is {value:.4g}, and reaches={self.reaches:g}"
        best, best_step, since = None, 0, 0
        for step, now in history:
            if self.is_better(now, best, by=self.min_delta):
                best, best_step, since = now, step, 0
            else:
                since += 1
        if self.patience is not None and since >= self.patience:
            found = (
                "never finite"
                if best is None
                else f"best {best:.4g} at step {best_step}"
            )
            return (
                f"{self.metric} is no better for {since} "
                f"evaluation{'s' * (since > 1)} ({found})"
            )
        return None


def best_of(
    goal: Goal, history: History, *, among: Collection[int] | None = None
) -> tuple[int, float] | None:
    """The step with the best value, and the value; None if there is none.

    Args:
      goal: What is better.
      history: The evaluations.
      among: The steps that count; None: all.
    """
    best: tuple[int, float] | None = None
    for step, value in history:
        if among is not None and step not in among:
            continue
        if goal.is_better(value, None if best is None else best[1]):
            best = step, value
    return best
