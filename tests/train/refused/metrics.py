"""Metrics whose states or results are none, and names that are taken."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from fdlkit.train.losses import SquaredError
from fdlkit.train.metrics import MeanLoss, Metric
from fdlkit.train.metrics_of_classes import ConfusionMatrix, LabelCounts, TopK
from fdlkit.train.refusals import explained_merge
from tests.train.refused.toys import Mine, Total, checked, fails, made
from tests.train.toys import make_trainer


class NoMerge(Mine):
    """Raises where two batches meet."""

    def merge(self, a, b):
        return fails(a, b)


def trained(**changes):
    short = {"num_train_steps": 1, "log_every": 1, "eval_every": 1}
    return lambda folder: make_trainer(**changes, **short).train(folder)


def merged(_):
    metrics = {"mine": NoMerge()}
    explained_merge(metrics, {"mine": 1}, {"mine": 2}, where="metrics")


REFUSED = {
    "something else than a metric": checked(metrics={"a": SquaredError()}),
    "a list of metrics": checked(metrics=[MeanLoss()]),
    "a name that is no text": checked(metrics={1: MeanLoss()}),
    "a metric without a state": checked(metrics={"mine": Metric()}),
    "a metric that raises": checked(metrics={"mine": Mine(make=fails)}),
    "a state that is no number": checked(
        train_metrics={"mine": Mine(make=lambda p: jnp.sum(p + 1j))}
    ),
    "a state that is text": checked(metrics={"mine": Mine(make=lambda p: "x")}),
    "a state of int64 that is cut": checked(
        metrics={"mine": Mine(make=lambda p: np.asarray([2**40]))}
    ),
    "a name that is blank": checked(train_metrics={" ": MeanLoss()}),
    "a name of two lines": checked(metrics={"a\nb": MeanLoss()}),
    "a result that is none of log points": checked(
        train_metrics={"mine": Mine(give=lambda s: None)}
    ),
    "a key path to what holds arrays": checked(
        train_metrics={"mine": Total(values="losses.loss")}
    ),
    "a mask of other dims": checked(metrics={"mine": Total(mask="batch.x")}),
    "a metric without a result": lambda _: Metric().result(0),
    "a result that is no number": trained(metrics={"mine": Mine(give=lambda s: "x")}),
    "a result that raises": trained(train_metrics={"mine": Mine(give=fails)}),
    "states that cannot be merged": merged,
    "the best of no class": made(TopK, k=0),
    "no class": made(ConfusionMatrix, num_classes=0),
    "too few names": made(LabelCounts, num_classes=3, names=("a", "b")),
    "two metrics of one name": checked(
        metrics={"mine": Mine(give=lambda s: {"a": 1.0}), "mine/a": MeanLoss()}
    ),
    "two of log points": checked(
        train_metrics={"mine": Mine(give=lambda s: {"a": 1.0}), "mine/a": MeanLoss()}
    ),
    "a number named by no text": trained(
        metrics={"mine": Mine(give=lambda s: {("a", 1): object()})}
    ),
}
