"""Under which names metrics are logged, told from shapes before anything is computed.

A metric may come to several numbers, and their names are those that its `result` gives.
So `result` is asked once about a state of zeros. Where it cannot answer (it divides by
what it has counted, say) its names are not known, and what goes by them is refused at
the first evaluation instead.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from fdlkit import suggest
from fdlkit.errors import UserError
from fdlkit.train.goals import Goal
from fdlkit.train.metrics import Metric
from fdlkit.train.states import Packed, results

# Names of what is logged, and whether each is a number: a histogram is none.
Numbers = Mapping[str, bool]


class LoggedNameError(UserError):
    """What cannot be logged, by its name or its kind, or a goal by what is not logged.

    Attributes:
      path: Where in the trainer.
      meant: What was likely meant; None without a guess.
      do: What to do, or what is possible.
    """

    def __init__(self, path: str, what: str, do: str, *, meant: str | None = None):
        super().__init__(what, *([] if meant is None else [meant]), do)
        self.path = path
        self.meant = meant
        self.do = do


def numbers_of(
    metrics: Mapping[str, Metric], states: Mapping[str, Any]
) -> dict[str, Numbers | None]:
    """What each metric is logged as, by its name; None where that is not known.

    Args:
      metrics: By name.
      states: The shapes of their states.
    """
    found: dict[str, Numbers | None] = {}
    for name, metric in metrics.items():
        zeros = jax.tree.map(lambda s: np.zeros(s.shape, s.dtype), states[name])
        try:
            with np.errstate(all="ignore"):
                given = results({name: metric}, {name: zeros})
        except Exception:  # noqa: BLE001 - whatever a person's code raises of no data
            found[name] = None
        else:
            found[name] = {key: isinstance(x, float) for key, x in given.items()}
    return found


def refuse_other_results(
    metrics: Mapping[str, Metric], states: Mapping[str, Any], *, where: str
) -> None:
    """Refuses metrics whose `result` is no number, of whatever state.

    It is asked about zeros and about ones: of a state without a row it may well give
    something else. One that raises is asked again at the first evaluation.

    Args:
      metrics: By name.
      states: The shapes of their states.
      where: The config path of the metrics.

    Raises:
      LoggedNameError: Naming the metric, and what its `result` gives.
    """
    for name, metric in metrics.items():
        given = [_other_kind(metric, states[name], of) for of in (0, 1)]
        if all(given):
            raise LoggedNameError(
                f"{where}[{name!r}]",
                f"{where}[{name!r}] ({type(metric).__name__}): `result` gives "
                f"something of type {given[-1]}, not a number",
                "return a float, or a dict of floats by name",
            )


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Given(Metric):
    """A metric whose result is there already."""

    given: Any

    def result(self, state: Any) -> Any:
        return self.given


def _other_kind(metric: Metric, state: Any, of: int) -> str | None:
    """The type of a metric's result of a state of equal numbers, if it is none."""
    filled = jax.tree.map(lambda s: np.full(s.shape, of, s.dtype), state)
    try:
        with np.errstate(all="ignore"):
            given = metric.result(filled)
    except Exception:  # noqa: BLE001 - whatever a person's code raises of no data
        return None
    parts = list(given.values()) if isinstance(given, Mapping) else None
    for one in [given] if parts is None else parts:
        kind = type(one).__name__
        try:
            results({"it": _Given(given=one)}, {"it": None})
        except Exception:  # noqa: BLE001 - `float` of anything at all
            is_number = False
        else:  # `float` reads texts too
            is_number = not isinstance(one, str | bytes | Mapping)
        if not is_number:
            return kind if parts is None else f"{type(given).__name__} of {kind}"
    return None


def all_numbers(found: Mapping[str, Numbers | None]) -> Numbers | None:
    """The numbers of all metrics; None where those of one are not known."""
    together: dict[str, bool] = {}
    for numbers in found.values():
        if numbers is None:
            return None
        together |= numbers
    return together


def shapes_in(packed: Packed) -> Any:
    """The tree of shapes that a step packs, from the shape of what it packs it in."""
    size = packed.values.shape
    zeros = dataclasses.replace(packed, values=np.zeros(size, np.float32))
    return zeros.unpack()


def refuse_same_names(found: Mapping[str, Numbers | None], *, where: str) -> None:
    """Refuses two metrics that would be logged under one name.

    Args:
      found: What each is logged as.
      where: The config path of the metrics.

    Raises:
      LoggedNameError: Naming both.
    """
    owners: dict[str, str] = {}
    for name, numbers in found.items():
        for number in numbers or ():
            if number in owners:
                raise LoggedNameError(
                    f"{where}[{name!r}]",
                    f"{where}[{owners[number]!r}] and {where}[{name!r}] are both "
                    f"logged as {number!r}",
                    "call one of them something else: a metric of several numbers is "
                    "logged as NAME/number",
                )
            owners[number] = name


def refuse_unlogged_goals(
    goals: Mapping[str, Goal], logged: Mapping[str, Numbers | None]
) -> None:
    """Refuses goals that go by what no evaluator logs, as far as that is known.

    Args:
      goals: By the trainer's field.
      logged: By the evaluator's name, what it logs; None: it is not known.

    Raises:
      LoggedNameError: Naming the goal, what was likely meant, and what is logged.
    """
    known = {
        f"{name}/{number}": is_number
        for name, numbers in logged.items()
        for number, is_number in (numbers or {}).items()
    }
    for field, goal in goals.items():
        evaluator = goal.metric.partition("/")[0]
        if known.get(goal.metric) or logged.get(evaluator, known) is None:
            continue
        numbers = [name for name, is_number in known.items() if is_number]
        parts = [name for name in numbers if name.startswith(f"{goal.metric}/")]
        meant = suggest.hint(goal.metric, numbers)
        if parts:
            what = "comes to several numbers, and one has to be named"
            meant = suggest.did_you_mean(parts[0])
        elif goal.metric in known:
            meant = None
            what = "is a histogram, of which none is better than another"
        else:
            what = "is logged by no evaluator"
        raise LoggedNameError(
            f"{field}.metric",
            f"{field}.metric={goal.metric!r} {what}",
            f"name a number that is logged: {', '.join(parts or numbers) or 'none'}",
            meant=meant,
        )
