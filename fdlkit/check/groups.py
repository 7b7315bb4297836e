"""What a check says of how updates are made: patterns of parameters, loss scales."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fdlkit import suggest
from fdlkit.check import jaxprs
from fdlkit.graph import paths
from fdlkit.graph.paths import Path

if TYPE_CHECKING:
    from fdlkit.check.findings import Finding
    from fdlkit.check.subject import Subject
    from fdlkit.train.patterns import PatternError

BY_PATH, GROUPS = "fdlkit.train.optimizers.by_path", "groups"


def finding(subject: Subject, error: PatternError) -> Finding:
    """A pattern that cannot be used, or a parameter that has none, where it stands."""
    first, *rest = error.lines
    lines = [line for line in rest if not line.startswith("did you mean")]
    meant = error.meant if error.pattern is not None else None
    return subject.finding(
        "SH011",
        _place(subject, error.pattern),
        "\n".join([first, *lines[:-1]]),
        fix=f"write {meant!r}" if meant else lines[-1],
        meant=suggest.did_you_mean(meant),
        nearest=() if error.meant is None else (error.meant,),
    )


def _place(subject: Subject, pattern: str | None) -> Path:
    """Where a pattern is written; the groups themselves, if it is written nowhere."""
    place: Path = ("optimizer",)
    for number in subject.places.order:
        node = subject.graph.nodes[number]
        if node.callable is None or node.callable.name != BY_PATH:
            continue
        place = (*subject.places.path(number), GROUPS)
        groups = node.argument(GROUPS)
        held = None if groups is None else subject.graph.node(groups.value)
        key = paths.of_dict_key(pattern)
        if held is not None and key in [argument.key for argument in held.arguments]:
            return (*place, key)
    return place


def float16(subject: Subject, step: Any) -> Iterator[Finding]:
    """A step that computes in float16 without a loss scale, or has one for nothing.

    Args:
      subject: The experiment.
      step: The jaxpr of a training step; None if it could not be traced.
    """
    if step is None:
        return
    assert subject.trainer is not None
    computes = any(
        str(getattr(var.aval, "dtype", "")) == "float16"
        for equation in jaxprs.equations(step)
        for var in equation.outvars
    )
    if computes and subject.trainer.loss_scale is None:
        yield subject.finding(
            "SH012",
            "loss_scale",
            "the model computes in float16, and no loss_scale is set: gradients under "
            "6e-8 are rounded to zero",
            fix="loss_scale = Config(DynamicLossScale), or compute in bfloat16",
        )
    elif subject.trainer.loss_scale is not None and not computes:
        yield subject.finding(
            "SH013",
            "loss_scale",
            "loss_scale is set, and nothing computes in float16",
            fix="loss_scale = None: bfloat16 and float32 have the range of the loss",
        )
