"""Evaluators whose coverage, batches and key paths do not fit their data."""

from __future__ import annotations

import fiddle as fdl

from fdlkit.train.coverage import First, Rolling
from fdlkit.train.evaluators import Evaluator
from fdlkit.train.losses import SquaredError
from fdlkit.train.metrics import MeanLoss
from tests.check.house import data, experiment

MESH = {"data": 4}


def broken():
    cut, endless = data("eval"), data("eval")
    cut.batch_size, endless.num_epochs = 6, None
    return experiment(
        evaluators={
            "short": fdl.Config(Evaluator, coverage=fdl.Config(First, 20)),
            "twice": fdl.Config(Evaluator, coverage=fdl.Config(Rolling, 9)),
            "endless": fdl.Config(Evaluator, data=endless),
            "parts": fdl.Config(
                Evaluator, data=endless, coverage=fdl.Config(Rolling, 2)
            ),
            "cut": fdl.Config(Evaluator, data=cut),
            "misspelt": fdl.Config(
                Evaluator,
                loss=fdl.Config(SquaredError, labels="batch.label"),
                metrics={"loss": fdl.Config(MeanLoss)},
            ),
            "unread": fdl.Config(
                Evaluator, metrics={"loss": fdl.Config(MeanLoss, loss="losses.los")}
            ),
        },
    )
