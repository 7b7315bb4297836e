"""Metrics that are logged under one name, read before they are there, or gone by."""

from __future__ import annotations

import dataclasses

import fiddle as fdl

from fdlkit.keys import Key
from fdlkit.train.evaluators import Evaluator
from fdlkit.train.goals import KeepBest, StopEarly
from fdlkit.train.metrics import MeanLoss, Metric
from fdlkit.train.metrics_of_values import Mean
from tests.check.house import data, experiment


@dataclasses.dataclass(frozen=True, kw_only=True)
class Extremes(Metric):
    """Two numbers of the predictions."""

    preds: Key = "preds"

    def state(self, *, preds, mask):
        del mask
        return {"low": preds.min(), "high": preds.max()}

    def result(self, state):
        return {name: float(number) for name, number in state.items()}


def broken():
    one = fdl.Config(MeanLoss)
    early = fdl.Config(Mean, values="metrics.range.high")
    return experiment(
        metrics={"range": fdl.Config(Extremes), "loss": one},
        train_metrics={"range": fdl.Config(Extremes), "range/low": one},
        evaluators={
            "late": fdl.Config(
                Evaluator, metrics={"early": early, "range": fdl.Config(Extremes)}
            ),
            "own": fdl.Config(
                Evaluator,
                data=data("eval"),
                metrics={"range/high": one, "range": fdl.Config(Extremes)},
            ),
        },
        keep_best=fdl.Config(KeepBest, metric="own/range"),
        stop_early=fdl.Config(StopEarly, patience=3, metric="eval/range/lwo"),
    )
