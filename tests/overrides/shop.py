"""A small config that the override tests change: every kind of parameter."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable
from typing import Any, Literal

import fiddle as fdl


class Norm(enum.Enum):
    """Which normalisation."""

    RMS = "rms"
    LAYER = "layer"


class Width(fdl.Tag):
    """Every width."""


def relu(x: float) -> float:
    return max(x, 0.0)


def gelu(x: float) -> float:
    return x


@dataclasses.dataclass(frozen=True)
class Axes:
    data: int = -1
    fsdp: int = 1


@dataclasses.dataclass(frozen=True)
class Mesh:
    ici: Axes = dataclasses.field(default_factory=Axes)


@dataclasses.dataclass(frozen=True)
class Mlp:
    width: int = 8
    dropout: float = 0.0
    activation: Callable[[float], float] = relu


@dataclasses.dataclass(frozen=True)
class GatedMlp:
    width: int = 8
    gates: int = 1


@dataclasses.dataclass(frozen=True)
class Model:
    hidden: int = 4
    widths: list[int] = dataclasses.field(default_factory=lambda: [1, 2, 3])
    norm: Norm = Norm.RMS
    ckpt: str | None = None
    mlp: Mlp | None = None
    dropout: float = 0.0
    mode: Literal["train", "eval"] = "train"
    dtype: Any = None
    layers: tuple[Mlp, ...] = ()
    table: dict[str, int] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Adam:
    learning_rate: float = 1e-3
    b1: float = 0.9
    b2: float = 0.999


@dataclasses.dataclass(frozen=True)
class Sgd:
    learning_rate: float = 1e-3
    momentum: float = 0.0


@dataclasses.dataclass(frozen=True)
class Trainer:
    model: Model
    opt: Adam | Sgd
    name: str = "run"
    steps: int = 100
    scale: int | float = 1
    fast: bool = False
    extra: Any = None
    mesh: Mesh = dataclasses.field(default_factory=Mesh)
    warmup: int = 10


class Built:
    """What a config should not hold."""

    def __call__(self) -> None: ...


built = Built()


def base() -> fdl.Config[Trainer]:
    mlp = fdl.Config(Mlp, width=16)
    fdl.add_tag(mlp, "width", Width)
    model = fdl.Config(Model, hidden=64, mlp=mlp, layers=(mlp, fdl.Config(Mlp)))
    fdl.add_tag(model, "hidden", Width)
    return fdl.Config(Trainer, model=model, opt=fdl.Config(Adam, b2=0.95))


def small(cfg: fdl.Config[Trainer], hidden: int = 2) -> None:
    """Makes it small."""
    cfg.model.hidden = hidden


def renamed(cfg: fdl.Config[Trainer], name: str) -> None:
    cfg.name = name


def broken(cfg: fdl.Config[Trainer]) -> None:
    cfg.name = "half done"
    cfg.model.no_such_thing = 1


def returning(cfg: fdl.Config[Trainer]) -> fdl.Config[Trainer]:
    return fdl.Config(Trainer)
