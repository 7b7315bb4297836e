"""Evaluators that have nothing to evaluate, and goals that nothing reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from fdlkit.check.findings import Finding
from fdlkit.check.subject import Subject
from fdlkit.train.refusals import refuse_other_names
from fdlkit.train.result_names import LoggedNameError

if TYPE_CHECKING:
    from fdlkit.train.trainer import Trainer

# By the kind of the trainer's own faults; of metrics the shapes level tells.
_CODES = {"data": "CF022", "name": "CF023", "twice": "CF023", "goal": "CF024"}


def find(subject: Subject) -> Iterator[Finding]:
    """What the trainer refuses of its evaluators, all of it, and what does nothing."""
    trainer = subject.trainer
    if trainer is None:
        return
    for fault in trainer.faults():
        if fault.kind in _CODES:
            yield subject.finding(
                _CODES[fault.kind],
                fault.path,
                "\n".join([fault.what, *fault.there]),
                fix=fault.do,
                meant=fault.meant,
            )
    yield from _names(subject, trainer)
    if trainer.eval_every is not None and trainer.eval_data is None:
        yield subject.finding(
            "CF025",
            "eval_every",
            f"eval_every={trainer.eval_every}, and eval_data is None: nothing is "
            "evaluated by it",
            fix="give eval_data, or leave eval_every out",
        )


def _names(subject: Subject, trainer: Trainer) -> Iterator[Finding]:
    """Names of losses and metrics under which nothing can be logged."""
    named = {
        "loss": trainer.loss,
        "metrics": trainer.metrics,
        "train_metrics": trainer.train_metrics,
    }
    for field, parts in named.items():
        if not isinstance(parts, Mapping):
            continue  # one loss; or what the shapes level tells
        try:
            refuse_other_names(field, parts)
        except LoggedNameError as error:
            yield subject.finding("CF023", error.path, error.lines[0], fix=error.do)
