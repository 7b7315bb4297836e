"""Handwritten digits: a small convolutional network on scikit-learn's images.

    pip install 'fdlkit[digits]'
    fdlkit train experiments/digits.py:base --workdir=runs/digits

Seconds on two CPU cores; at least 97 % of the held-out images are right (98 to 99 %,
by the seed).
"""

from __future__ import annotations

import fiddle as fdl
import optax

from fdlkit import ref
from fdlkit.data.digits import Digits
from fdlkit.data.pipeline import Pipeline
from fdlkit.nn.conv_net import ConvNet
from fdlkit.sharding.mesh import Mesh, MeshAxes
from fdlkit.train.losses import CrossEntropy
from fdlkit.train.metrics import MeanLoss
from fdlkit.train.metrics_of_classes import Accuracy
from fdlkit.train.trainer import Trainer


def base() -> fdl.Config[Trainer]:
    """400 steps of 64 images, 18 passes over the 1,438 to train on."""
    schedule = fdl.Config(
        optax.warmup_cosine_decay_schedule,
        init_value=0.0,
        peak_value=3e-3,
        warmup_steps=ref("num_train_steps") // 20,
        decay_steps=ref("num_train_steps"),
    )
    return fdl.Config(
        Trainer,
        model=fdl.Config(
            ConvNet, classes=10, channels=[32, 64], hidden=128, dropout=0.3
        ),
        inputs={"image": "batch.image"},
        loss=fdl.Config(CrossEntropy, labels="batch.label", unit="images"),
        train_data=images("train", batch_size=64),
        eval_data=images("eval", batch_size=128),
        metrics={
            "loss": fdl.Config(MeanLoss),
            "accuracy": fdl.Config(Accuracy, labels="batch.label"),
        },
        optimizer=fdl.Config(optax.adamw, learning_rate=schedule, weight_decay=1e-3),
        learning_rate=ref("optimizer.learning_rate"),
        mesh=fdl.Config(
            Mesh, ici=fdl.Config(MeshAxes, data=-1), dcn=fdl.Config(MeshAxes)
        ),
        num_train_steps=400,
        log_every=50,
        eval_every=200,
        seed=0,
    )


def images(split: str, *, batch_size: int) -> fdl.Config[Pipeline]:
    """Batches of images: shuffled for ever to train, once through to evaluate."""
    evaluation = split == "eval"
    return fdl.Config(
        Pipeline,
        source=fdl.Config(Digits, split=split),
        batch_size=batch_size,
        shuffle=not evaluation,
        num_epochs=1 if evaluation else None,
        remainder="pad" if evaluation else "drop",
    )


def tiny() -> fdl.Config[Trainer]:
    """`base`, small enough for the tests."""
    cfg = base()
    cfg.model.channels = [4, 8]
    cfg.model.hidden = 16
    cfg.num_train_steps = 20
    cfg.log_every = 5
    cfg.eval_every = 10
    return cfg
