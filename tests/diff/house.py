"""What the hand-made pairs are made of: a small experiment, nothing of which is run."""

from __future__ import annotations

import dataclasses
from typing import Any

import fiddle as fdl

from fdlkit.graph.references import ref


class Width(fdl.Tag):
    """A width."""


class Rate(fdl.Tag):
    """A rate."""


@dataclasses.dataclass
class Norm:
    epsilon: float = 1e-6


@dataclasses.dataclass
class Mlp:
    width: int
    dropout: float = 0.0


@dataclasses.dataclass
class GatedMlp:
    width: int
    gate: str = "silu"


@dataclasses.dataclass
class Block:
    mlp: Mlp
    heads: int = 4
    norm: Any = None


@dataclasses.dataclass
class Embed:
    vocab: int
    features: int


@dataclasses.dataclass
class Model:
    hidden: int
    embed: Embed
    output: Embed
    blocks: list[Block] = dataclasses.field(default_factory=list)
    dropout: float = 0.1


@dataclasses.dataclass
class Average:
    """Averages the weights of a model."""

    model: Any
    decay: float = 0.999


@dataclasses.dataclass
class Experiment:
    model: Any
    optimizer: Any
    data: Any = None
    extra: Any = None
    steps: int = 1000


def adam(learning_rate, b1=0.9, b2=0.999, eps=1e-8):
    return learning_rate, b1, b2, eps


def sgd(learning_rate, momentum=None):
    return learning_rate, momentum


def chain(*parts):
    return parts


def clip(norm):
    return norm


def block(width: int, **more: Any) -> fdl.Config[Block]:
    return fdl.Config(Block, mlp=fdl.Config(Mlp, width=width), **more)


def base() -> fdl.Config[Experiment]:
    """The experiment that most pairs begin with."""
    return fdl.Config(
        Experiment,
        model=fdl.Config(
            Model,
            hidden=64,
            embed=fdl.Config(Embed, vocab=256, features=ref("^hidden")),
            output=fdl.Config(Embed, vocab=256, features=ref("^hidden")),
            blocks=[block(128), block(256, heads=8), block(512)],
        ),
        optimizer=fdl.Config(adam, learning_rate=1e-3, b2=0.98),
        extra={"names": ["train", "eval", "test"], "betas": (0.9, 0.95)},
    )
