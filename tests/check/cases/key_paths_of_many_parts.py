"""Key paths of several losses, of metrics and into intermediates, each a little wrong.

`grads` is there, but not for an evaluation.
"""

from __future__ import annotations

import fiddle as fdl

from fdlkit.train.losses import AbsoluteError, SquaredError
from fdlkit.train.metrics import MeanLoss
from fdlkit.train.metrics_of_values import Mean, SkipNan, TreeNorm
from tests.check.house import experiment


def broken():
    inner = "interms.iner.__call__[0]"
    return experiment(
        loss={
            "square": fdl.Config(SquaredError, labels="labels"),
            "inner": fdl.Config(AbsoluteError, predictions=inner, labels=inner),
        },
        train_metrics={
            "square": fdl.Config(MeanLoss, loss="losses.sqare"),
            "grads": fdl.Config(TreeNorm, tree="grads.inner.kernal"),
            "some": fdl.Config(SkipNan, metric=fdl.Config(Mean, values="pred")),
        },
        metrics={"grads": fdl.Config(TreeNorm, tree="grads")},
    )
