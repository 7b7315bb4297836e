"""Evaluators without data or name, coverage of nothing, goals that nothing meets."""

from __future__ import annotations

import dataclasses
import json
import math

import flax.linen as nn

from fdlkit.train.checkpoints import BEST_FILE, CheckpointPolicy
from fdlkit.train.coverage import First, Rolling
from fdlkit.train.evaluators import AnyEvaluator, Evaluator
from fdlkit.train.goals import Goal, KeepBest, StopEarly
from fdlkit.train.histograms import Histogram
from fdlkit.train.metrics import MeanLoss
from fdlkit.train.metrics_of_classes import LabelCounts
from fdlkit.train.occasions import Occasions
from fdlkit.train.verdict import Verdict
from tests.train.refused.toys import Mine, checked, made, rows
from tests.train.toys import make_trainer


def held(**evaluators):
    return checked(evaluators=evaluators)


def goal(**changes):
    return checked(keep_best=KeepBest(**changes))


PARTS = {"loss": MeanLoss(), "count": LabelCounts(num_classes=2, labels="batch.n")}


def with_counts(**changes):
    """A trainer with a metric of several numbers, `eval/count/0` and `eval/count/1`."""
    counted = Mine(give=lambda state: {"0": float(state), "1": 0.0})
    return checked(metrics={"loss": MeanLoss(), "count": counted}, **changes)


def unsure(state):
    """A result whose names follow from the numbers."""
    return {"many" if state > 1e9 else f"some{1 / state:.0f}"[:4]: 1.0}


def evaluated(which, *, best=None, **changes):
    """A checkpoint that cannot be evaluated, of a run of two steps."""

    def run(folder):
        trainer = make_trainer(
            num_train_steps=2, checkpoints=CheckpointPolicy(every=1), **changes
        )
        trainer = dataclasses.replace(trainer, eval_data=None)
        for step in (1, 2):
            for item in ("state", "data", "record"):
                (folder / "checkpoints" / str(step) / item).mkdir(parents=True)
        if best is not None:
            (folder / BEST_FILE).write_text(best)
        trainer.evaluate(folder, which)

    return run


def seen(values, **changes):
    def run(folder):
        goal = KeepBest(**changes)
        Verdict(goal, None, workdir=folder, step=0).see(1, "eval", values)

    return run


def bars():
    hist = Histogram(values="params")
    return hist.result({"": {"bars": [1] * 257, "sums": [257, 0, 257]}})


REFUSED = {
    "an evaluator that is none": held(other=MeanLoss()),
    "an evaluator that does nothing": held(other=AnyEvaluator()),
    "a name that is taken": held(train=Evaluator()),
    "a name with a slash": checked(evaluators={"a/b": Evaluator()}),
    "no data": checked(eval_data=None, eval_every=None, evaluators={"a": Evaluator()}),
    "a number for a coverage": held(quick=Evaluator(coverage=3)),
    "averages that nobody keeps": held(smooth=Evaluator(params="ema")),
    "other parameters": made(Evaluator, params="emma"),
    "a model that does not run": held(other=Evaluator(model=nn.Dense(1))),
    "twice when it is due": held(eval=Evaluator(every=5)),
    "no metrics": held(mute=Evaluator(metrics={})),
    "no metrics of the trainer's": checked(metrics={}),
    "a metric that is called rows": checked(metrics={"rows": MeanLoss()}),
    "two metrics of one name": held(
        a=Evaluator(metrics={"m": Mine(give=lambda s: {"x": 1.0}), "m/x": MeanLoss()})
    ),
    "all of what has no end": checked(
        eval_data=rows(num_epochs=None, remainder="drop")
    ),
    "the first none": made(First, 0),
    "the next few": made(Rolling, 2.5),
    "every none": made(Occasions, every=0),
    "at none": made(Occasions, every=5, at=(3, 0)),
    "never": made(Occasions, every=None, last=False),
    "neither less nor more": made(Goal, mode="mim"),
    "never stopping early": made(StopEarly),
    "no patience": made(StopEarly, patience=0),
    "better by less than nothing": made(StopEarly, patience=1, min_delta=-1.0),
    "as good as nothing is": made(StopEarly, reaches=math.nan),
    "a misspelt metric to go by": goal(metric="eval/los"),
    "a metric of no evaluator": goal(metric="loss"),
    "no evaluator to go by": checked(
        eval_data=None, eval_every=None, keep_best=KeepBest()
    ),
    "one number of several, misspelt": with_counts(
        keep_best=KeepBest(metric="eval/count/2")
    ),
    "a metric of several numbers": with_counts(keep_best=KeepBest(metric="eval/count")),
    "a histogram": checked(
        metrics={"params": Histogram()},
        stop_early=StopEarly(patience=1, metric="eval/params"),
    ),
    "a number that is not logged after all": seen(
        {"eval/loss": 1.0, "eval/rows": 8}, metric="eval/los"
    ),
    "a histogram after all": seen(
        {"eval/loss": bars(), "eval/rows": 8}, metric="eval/loss"
    ),
    "no checkpoint to evaluate": lambda folder: make_trainer().evaluate(folder),
    "nothing to evaluate on": evaluated("last"),
    "a step that was not saved": evaluated(3),
    "no best one": evaluated("best"),
    "a best one that cannot be read": evaluated("best", best="{"),
    "a best one that is gone": evaluated("best", best=json.dumps({"step": 7})),
}
