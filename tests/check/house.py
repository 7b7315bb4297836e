"""What the cases are made of: an experiment that is sound, and traced in an instant."""

from __future__ import annotations

import dataclasses
from typing import Any

import fiddle as fdl
import flax.linen as nn
import jax
import numpy as np
import optax

from fdlkit import ref
from fdlkit.data.pipeline import Pipeline
from fdlkit.data.source import InMemory
from fdlkit.sharding.mesh import Mesh, MeshAxes
from fdlkit.train.losses import SquaredError
from fdlkit.train.trainer import Trainer


def examples(count: int = 64, seed: int = 0) -> dict[str, np.ndarray]:
    """Inputs `[count, 4]` and labels `[count, 1]`."""
    x = np.random.default_rng(seed).normal(size=(count, 4)).astype(np.float32)
    return {"x": x, "labels": x[:, :1]}


@dataclasses.dataclass(frozen=True)
class Generated:
    """Rows that are made from a seed, some of them held out by another one."""

    seed: int = 0
    split_seed: int = 0
    eval_fraction: float = 0.25
    split: str = "train"

    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> dict[str, np.ndarray]:
        order = np.random.default_rng(self.split_seed).permutation(256)
        held_out = int(256 * self.eval_fraction)
        rows = order[:held_out] if self.split == "eval" else order[held_out:]
        x = np.random.default_rng(self.seed + int(rows[index])).normal(size=4)
        return {"x": x.astype(np.float32), "labels": x[:1].astype(np.float32)}


class Tower(nn.Module):
    """Layers one after another, and a head."""

    width: int
    layers: tuple[nn.Module, ...] = ()
    head: nn.Module | None = None

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """`[batch, features]` to `[batch, 1]`."""
        x = nn.Dense(self.width, name="inner")(x)
        for layer in self.layers:
            x = layer(x)
        return nn.Dense(1, name="last")(x) if self.head is None else self.head(x)


class Layer(nn.Module):
    """One layer, `[batch, width]` to the same."""

    width: int
    scale: float = 1.0

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """Adds to the stream."""
        return x + self.scale * nn.tanh(nn.Dense(self.width, name="dense")(x))


def data(split: str = "train", **changes: Any) -> fdl.Config[Pipeline]:
    """Batches of generated rows."""
    return fdl.Config(
        Pipeline,
        source=fdl.Config(Generated, split=split),
        batch_size=8,
        **{"num_epochs": 1, "remainder": "pad"} if split == "eval" else {},
        **changes,
    )


def experiment(**changes: Any) -> fdl.Config[Trainer]:
    """The sound experiment, with other arguments."""
    arguments: dict[str, Any] = {
        "model": fdl.Config(Tower, width=8),
        "train_data": data(),
        "eval_data": data("eval"),
        "optimizer": fdl.Config(optax.adam, learning_rate=1e-2),
        "learning_rate": ref("optimizer.learning_rate"),
        "loss": fdl.Config(SquaredError),
        "inputs": {"x": "batch.x"},
        "mesh": fdl.Config(Mesh, ici=fdl.Config(MeshAxes, data=-1)),
        "num_train_steps": 30,
    }
    return fdl.Config(Trainer, **(arguments | changes))


def in_memory(seed: int = 0) -> fdl.Config[InMemory]:
    """Rows that a function makes."""
    return fdl.Config(InMemory, fdl.Config(examples, seed=seed))
