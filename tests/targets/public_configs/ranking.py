"""A ranking model: one set of features, used by data and model alike."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Generic, Literal, TypeVar

import fiddle as fdl
import flax.linen as nn
import jax.numpy as jnp
import optax


@dataclasses.dataclass
class Feature:
    name: str


FeatureT = TypeVar("FeatureT", bound=Feature)


@dataclasses.dataclass
class Dense(Feature):
    """A number."""


@dataclasses.dataclass
class Sparse(Feature):
    """Words of a vocabulary."""

    size: int
    width: int
    longest: int | None = None
    combine: Literal["mean", "sum", "sqrt"] = "mean"


@dataclasses.dataclass
class FeatureSet(Generic[FeatureT]):
    features: Sequence[FeatureT]

    def __post_init__(self):
        names = [feature.name for feature in self.features]
        if len(names) != len(set(names)):
            raise ValueError(f"two features of one name: {names}")

    def __iter__(self) -> Iterator[FeatureT]:
        return iter(self.features)


class Ranker(nn.Module):
    features: FeatureSet
    bottom: Sequence[int]
    top: Sequence[int]
    crosses: int

    @nn.compact
    def __call__(self, inputs):
        x = jnp.concatenate([inputs[f.name] for f in self.features], axis=-1)
        for width in (*self.bottom, *self.top):
            x = nn.relu(nn.Dense(width)(x))
        return x


class Clicks:
    def __init__(self, features: FeatureSet, batch: int, cached: bool = False):
        self.features, self.batch, self.cached = features, batch, cached


@dataclasses.dataclass
class Task:
    train_data: Clicks
    eval_data: Clicks
    model: Ranker
    optimizer: optax.GradientTransformation


@dataclasses.dataclass
class Loop:
    steps: int
    per_eval: int
    checkpoints: bool = True


@dataclasses.dataclass
class Experiment:
    task: Task
    loop: Loop


def features() -> fdl.Config[FeatureSet]:
    """Numbers and words."""
    sizes = [(40_000, 3), (390, 2), (17, 1)]
    return fdl.Config(
        FeatureSet,
        features=[fdl.Config(Dense, name=f"number-{i}") for i in range(4)]
        + [
            fdl.Config(Sparse, size=size, width=width, name=f"word-{i}")
            for i, (size, width) in enumerate(sizes)
        ],
    )


def experiment() -> fdl.Config[Experiment]:
    """Clicks, ranked."""
    shared = features()
    task = fdl.Config(
        Task,
        train_data=fdl.Config(Clicks, features=shared, batch=1024),
        eval_data=fdl.Config(Clicks, features=shared, batch=1024, cached=True),
        model=fdl.Config(
            Ranker, features=shared, bottom=[64, 32], top=[32, 1], crosses=3
        ),
        optimizer=fdl.Config(optax.adagrad, learning_rate=0.01),
    )
    loop = fdl.Config(Loop, steps=1_000, per_eval=100, checkpoints=False)
    return fdl.Config(Experiment, task=task, loop=loop)
