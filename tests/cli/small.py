"""The small config `T` that the tests of the command line change."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

import fiddle as fdl
import optax


class Norm(enum.Enum):
    """Which normalisation."""

    RMS = "rms"
    LAYER = "layer"


@dataclasses.dataclass(frozen=True)
class Mlp:
    """A layer."""

    width: int = 16
    dropout: float = 0.1


@dataclasses.dataclass(frozen=True)
class Model:
    """A model."""

    hidden: int = 64
    widths: list[int] = dataclasses.field(default_factory=lambda: [1, 2, 3])
    norm: Norm = Norm.LAYER
    ckpt: str | None = None
    mlp: Mlp | None = None
    dropout: float = 0.1
    dtype: Any = None


@dataclasses.dataclass(frozen=True)
class Trainer:
    """What `T` builds."""

    model: Any
    opt: optax.GradientTransformation
    name: str = "run"
    steps: int = 100


def T() -> fdl.Config[Trainer]:  # noqa: N802 - the name that the tests know it by
    """A model, an optimizer, a name and a number."""
    model = fdl.Config(Model, mlp=fdl.Config(Mlp), ckpt="last")
    return fdl.Config(Trainer, model=model, opt=fdl.Config(optax.adam, 1e-3, b2=0.95))


def base() -> fdl.Config[Trainer]:
    """`T` by the name that most files use."""
    return T()


def halved(cfg: fdl.Config[Trainer]) -> None:
    """A fiddler."""
    cfg.model.hidden //= 2
