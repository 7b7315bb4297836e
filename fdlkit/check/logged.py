"""Names under which metrics are logged: two of one name, goals by what is none."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from fdlkit.train.decode import NUMBERS as NUMBERS_OF_TEXT
from fdlkit.train.decode import GenerateText
from fdlkit.train.evaluation import ROWS
from fdlkit.train.evaluators import Evaluator
from fdlkit.train.result_names import (
    LoggedNameError,
    Numbers,
    all_numbers,
    numbers_of,
    refuse_other_results,
    refuse_same_names,
    refuse_unlogged_goals,
    shapes_in,
)

if TYPE_CHECKING:
    from fdlkit.check.findings import Finding
    from fdlkit.check.subject import Subject
    from fdlkit.check.trace import Trace
    from fdlkit.train.metrics import Metric


def find(subject: Subject, traced: Trace) -> Iterator[Finding]:
    """What a run refuses of the names of its numbers, as far as shapes tell them."""
    trainer = subject.trainer
    assert trainer is not None
    if traced.train_states is not None:
        states = shapes_in(traced.train_states)
        yield from _no_numbers(subject, trainer.train_metrics, states, "train_metrics")
        found = numbers_of(trainer.train_metrics, states)
        yield from _same_names(subject, found, "train_metrics")
    logged: dict[str, Numbers | None] = {}
    told = set()
    for name, evaluator in trainer.all_evaluators.items():
        logged[name] = None
        if isinstance(evaluator, GenerateText):
            logged[name] = NUMBERS_OF_TEXT
        if not isinstance(evaluator, Evaluator) or name not in traced.eval_states:
            continue
        metrics, where = trainer.metrics, "metrics"
        if evaluator.metrics is not None:
            metrics, where = evaluator.metrics, f"evaluators[{name!r}].metrics"
        states = shapes_in(traced.eval_states[name])
        found = numbers_of(metrics, states)
        if where not in told:
            told.add(where)
            yield from _no_numbers(subject, metrics, states, where)
            yield from _same_names(subject, found, where)
        numbers = all_numbers(found)
        logged[name] = None if numbers is None else {**numbers, ROWS: True}
    unknown = {fault.path for fault in trainer.faults() if fault.kind == "goal"}
    for field, goal in trainer.goals.items():
        if f"{field}.metric" not in unknown:  # else the config level tells
            yield from _told(
                subject,
                "SH015",
                functools.partial(refuse_unlogged_goals, {field: goal}, logged),
            )


def _no_numbers(
    subject: Subject, metrics: Mapping[str, Metric], states: Any, where: str
) -> Iterator[Finding]:
    refuse = functools.partial(refuse_other_results, metrics, states, where=where)
    yield from _told(subject, "SH002", refuse)


def _same_names(
    subject: Subject, found: dict[str, Numbers | None], where: str
) -> Iterator[Finding]:
    refuse = functools.partial(refuse_same_names, found, where=where)
    yield from _told(subject, "SH014", refuse)


def _told(subject: Subject, code: str, refuse: Callable[[], None]) -> Iterator[Finding]:
    try:
        refuse()
    except LoggedNameError as error:
        yield subject.finding(
            code, error.path, error.lines[0], fix=error.do, meant=error.meant
        )
