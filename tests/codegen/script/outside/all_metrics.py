"""A classifier whose losses and metrics are all that there are for one."""

import fiddle as fdl
import flax.linen as nn
import numpy as np
import optax

from fdlkit.data.pipeline import Pipeline
from fdlkit.data.source import InMemory
from fdlkit.train.losses import CrossEntropy, Huber, LogCosh, MaskedLanguageModel
from fdlkit.train.metrics import MeanLoss, Perplexity
from fdlkit.train.metrics_of_classes import (
    Accuracy,
    Auc,
    ConfusionMatrix,
    LabelCounts,
    TopK,
)
from fdlkit.train.metrics_of_values import Mean, Norm, Rmse, SkipNan, TreeNorm
from fdlkit.train.trainer import Trainer

CLASSES = 4


class Two(nn.Module):
    """Scores of classes, and a number."""

    @nn.compact
    def __call__(self, x):
        x = nn.tanh(nn.Dense(8, name="inner")(x))
        number = nn.Dense(1, name="number")(x)[:, 0]
        return {"logits": nn.Dense(CLASSES, name="classes")(x), "number": number}


def points(*, draw):
    """Inputs, classes of which 0 is padding, and a number."""
    rng = np.random.default_rng(draw)
    x = rng.normal(size=(40, 3)).astype(np.float32)
    labels = (np.abs(x).argmax(axis=1) + (x[:, 0] > 0)).astype(np.int32)
    return {
        "x": x,
        "labels": labels,
        "masked": (rng.random(40) < 0.5).astype(np.int32),
        "number": x.sum(axis=1),
        "positive": (x[:, 1] > 0).astype(np.int32),
    }


def base():
    """Four losses and a dozen metrics."""
    number = {"predictions": "preds.number", "labels": "batch.number"}
    accuracy = fdl.Config(Accuracy, logits="preds.logits")
    return fdl.Config(
        Trainer,
        model=fdl.Config(Two),
        loss={
            "loss": fdl.Config(
                CrossEntropy,
                logits="preds.logits",
                z_loss=1e-4,
                label_smoothing=0.1,
                pad_label=0,
            ),
            "masked": fdl.Config(
                MaskedLanguageModel,
                logits="preds.logits",
                weight=fdl.Config(optax.linear_schedule, 1.0, 0.0, 10),
            ),
            "huber": fdl.Config(Huber, **number, weight=0.5),
            "cosh": fdl.Config(LogCosh, **number, mask="batch.positive"),
        },
        inputs={"x": "batch.x"},
        train_data=fdl.Config(
            Pipeline,
            source=fdl.Config(InMemory, fdl.Config(points, draw=1)),
            batch_size=16,
        ),
        eval_data=fdl.Config(
            Pipeline,
            source=fdl.Config(InMemory, fdl.Config(points, draw=2)),
            batch_size=16,
            num_epochs=1,
            shuffle=False,
            remainder="pad",
        ),
        metrics={
            "loss": fdl.Config(MeanLoss),
            "perplexity": fdl.Config(Perplexity, loss="losses.masked"),
            "accuracy": accuracy,
            "sure": fdl.Config(SkipNan, metric=accuracy),
            "top2": fdl.Config(TopK, k=2, logits="preds.logits"),
            "auc": fdl.Config(Auc, scores="preds.number", labels="batch.positive"),
            "taken_for": fdl.Config(
                ConfusionMatrix, num_classes=CLASSES, logits="preds.logits"
            ),
            "count": fdl.Config(LabelCounts, num_classes=CLASSES),
            "rmse": fdl.Config(Rmse, **number),
        },
        train_metrics={
            "mean": fdl.Config(Mean, values="preds.number"),
            "length": fdl.Config(Norm, values="preds.logits"),
            "params": fdl.Config(TreeNorm),
            "grads": fdl.Config(TreeNorm, tree="grads.inner"),
        },
        optimizer=fdl.Config(optax.sgd, 0.1),
        num_train_steps=20,
        log_every=1,
    )
