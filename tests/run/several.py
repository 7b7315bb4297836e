"""An experiment that tells which rows each process reads, and is quick to compile."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import fiddle as fdl
import flax.linen as nn
import jax
import numpy as np
import optax

from fdlkit.data.pipeline import Pipeline
from fdlkit.data.source import InMemory
from fdlkit.sharding.mesh import Mesh, MeshAxes
from fdlkit.train.checkpoints import CheckpointPolicy
from fdlkit.train.coverage import Rolling
from fdlkit.train.evaluators import Evaluator
from fdlkit.train.goals import KeepBest, StopEarly
from fdlkit.train.losses import CrossEntropy
from fdlkit.train.metrics import MeanLoss
from fdlkit.train.metrics_of_classes import Accuracy
from fdlkit.train.trainer import Trainer

ROWS, HELD_OUT = 96, 42


@dataclasses.dataclass(frozen=True)
class Noted:
    """Writes the number of every row that is read into a file of the process's own.

    Attributes:
      folder: Where the files are; empty: nothing is written.
    """

    folder: str = ""

    def __call__(self, example: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        if self.folder:
            path = Path(self.folder) / f"rows-{jax.process_index()}.txt"
            with path.open("a") as file:
                file.write(f"{int(example['number'])}\n")
        return example


class Classifier(nn.Module):
    """Three classes out of four numbers."""

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        return nn.Dense(3)(nn.tanh(nn.Dense(8)(x)))


def points(n: int, seed: int) -> dict[str, np.ndarray]:
    """Points `[n, 4]`, which class they are `[n]`, and their numbers."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4)).astype(np.float32)
    noise = 0.5 * rng.normal(size=(n, 3))
    return {
        "x": x,
        "labels": np.argmax(x[:, :3] + noise, axis=1).astype(np.int32),
        "number": np.arange(n, dtype=np.int32),
    }


def base() -> fdl.Config[Trainer]:
    """Evaluates in two ways, keeps the best, and may stop."""
    held_out = fdl.Config(
        Pipeline,
        source=fdl.Config(InMemory, fdl.Config(points, HELD_OUT, 1)),
        batch_size=16,
        shuffle=False,
        num_epochs=1,
        remainder="pad",
    )
    return fdl.Config(
        Trainer,
        model=fdl.Config(Classifier),
        inputs={"x": "batch.x"},
        train_data=fdl.Config(
            Pipeline,
            source=fdl.Config(InMemory, fdl.Config(points, ROWS, 0)),
            transforms=[fdl.Config(Noted)],
            batch_size=16,
            seed=5,
        ),
        eval_data=held_out,
        eval_every=4,
        loss=fdl.Config(CrossEntropy, unit="points"),
        metrics={"loss": fdl.Config(MeanLoss), "accuracy": fdl.Config(Accuracy)},
        evaluators={
            "rolling": fdl.Config(
                Evaluator, every=3, coverage=fdl.Config(Rolling, batches=2)
            )
        },
        keep_best=fdl.Config(KeepBest, metric="rolling/accuracy", mode="max"),
        stop_early=fdl.Config(StopEarly, metric="eval/loss", patience=3),
        optimizer=fdl.Config(optax.adam, learning_rate=0.05),
        num_train_steps=24,
        log_every=6,
        checkpoints=fdl.Config(CheckpointPolicy, every=6, keep=1),
        mesh=fdl.Config(
            Mesh, ici=fdl.Config(MeshAxes, data=-1), dcn=fdl.Config(MeshAxes)
        ),
    )
