"""Key paths that lead nowhere, and fields that are none."""

from __future__ import annotations

import dataclasses

from fdlkit.keys import Key, get_key, key_fields, parse_key
from tests.keys.test_keys import CONTEXT, Part
from tests.train.refused import toys


def looked_up(key, *, wanted_by="metrics['near'].logits"):
    return lambda _: get_key(CONTEXT, key, wanted_by=wanted_by)


def forgotten(_):
    class Forgot(Part):
        other: Key = "preds"

    key_fields(Forgot)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Far(toys.Total):
    """Reads what a test wants."""

    values: Key = "preds"


def trained_on(metrics=None, train_metrics=None, **changes):
    return toys.checked(
        metrics=metrics or {"a": Far()}, train_metrics=train_metrics or {}, **changes
    )


REFUSED = {
    "a misspelt entry of the batch": looked_up("batch.lables"),
    "a misspelt root": looked_up("pred.logits"),
    "a level that was forgotten": looked_up("logits"),
    "one part too many": looked_up("preds.logits.value"),
    "an index that is not there": looked_up("preds.aux[2].pos"),
    "a deep place": looked_up("params.encoder.Dense_0.kernal"),
    "an intermediate": looked_up("interms.encoder.attn.__call__[0]"),
    "a stranger": looked_up("zzz"),
    "a root that is not there yet": looked_up("grads.encoder"),
    "written as other paths are": looked_up("preds/logits"),
    "no key path at all": lambda _: parse_key("a b"),
    "no text": looked_up(3),
    "a class that is no dataclass": forgotten,
    "a misspelt input": toys.checked(inputs={"x": "batch.y"}),
    "a misspelt label": toys.checked(loss=toys.Squares(labels="batch.label")),
    "a label that evaluation alone lacks": toys.checked(
        loss=toys.Squares(labels="batch.extra"), train_data=toys.with_extra()
    ),
    "a metric of a loss that is not there": trained_on({"a": Far(values="losses.b")}),
    "a gradient where there is none": trained_on({"a": Far(values="grads")}),
    "a misspelt gradient at a log point": trained_on(
        train_metrics={"a": Far(values="grads.Dense_0.kernal")}
    ),
    "an intermediate that is not there": trained_on(
        {"a": Far(values="interms.Dense_9.__call__[0]")}
    ),
    "a metric that is not there": trained_on(
        {"first": Far(), "a": Far(values="metrics.frist")}
    ),
    "a metric that comes later": trained_on(
        {"a": Far(values="metrics.later"), "later": Far()}
    ),
    "a part of a metric that is not there": trained_on(
        {"first": Far(), "a": Far(values="metrics.first.numerater")}
    ),
    "a metric that a loss wants": toys.checked(
        loss=toys.Squares(labels="metrics.first")
    ),
}
