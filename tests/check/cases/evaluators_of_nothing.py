"""Evaluators without data, under taken names, and goals that nothing logs."""

from __future__ import annotations

import fiddle as fdl

from fdlkit.train.evaluators import Evaluator
from fdlkit.train.goals import KeepBest, StopEarly
from fdlkit.train.metrics import MeanLoss
from tests.check.house import data, experiment


def broken():
    return experiment(
        eval_data=None,
        eval_every=100,
        evaluators={
            "hollow": fdl.Config(Evaluator, params="ema"),
            "train": fdl.Config(Evaluator, data=data("eval")),
            "held_out": fdl.Config(
                Evaluator, data=data("eval"), metrics={"rows": fdl.Config(MeanLoss)}
            ),
            "mute": fdl.Config(Evaluator, data=data("eval"), metrics={}),
        },
        keep_best=fdl.Config(KeepBest, metric="heldout/loss"),
        stop_early=fdl.Config(StopEarly, patience=3),
    )
