"""A launcher's arguments as a config: one function of parts, which take arguments."""

import copy
import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Optional, Union

import fiddle as fdl

BATCH_SIZE = 128
EVAL_EVERY = 1000
SEED = None


@dataclasses.dataclass
class Mixture:
    name: str


MixtureOrName = Union[str, Mixture]


@dataclasses.dataclass
class Dataset:
    mixture: MixtureOrName
    lengths: Mapping[str, int]
    split: str
    batch_size: int
    shuffle: bool = True
    seed: Optional[int] = None
    pack: bool = False


@dataclasses.dataclass
class Restore:
    path: list[str]
    strict: bool = True


@dataclasses.dataclass
class Save:
    period: int
    dtype: str = "float32"
    keep: Optional[int] = None


@dataclasses.dataclass
class Checkpoints:
    restore: Optional[Restore] = None
    save: Optional[Save] = None


@dataclasses.dataclass
class Model:
    width: int
    heads: int = 4
    dropout: float = 0.1


def axis_rules(extra: tuple = ()) -> list[tuple[str, Optional[str]]]:
    return [("batch", "data"), ("embed", None), *extra]


@dataclasses.dataclass
class Partitioner:
    partitions: int
    rules: list


def rsqrt_schedule(factors: str, base: float, warmup: int) -> Callable[[int], float]:
    return lambda step: base * min(1.0, step / warmup)


class Trainer:
    def __init__(self, model: Model, learning_rate: Any, microbatches: int | None):
        self.model = model
        self.learning_rate = learning_rate
        self.microbatches = microbatches


def launch(
    *,
    model: Model,
    directory: Optional[str],
    train_data: Dataset,
    eval_data: Optional[Dataset],
    checkpoints: Checkpoints,
    partitioner: Partitioner,
    trainer_cls: Callable[..., Trainer],
    steps: int,
    eval_every: int,
    seed: Optional[int],
    summarize: Callable[..., str],
) -> dict[str, Any]:
    return {
        "directory": directory,
        "batch": train_data.batch_size,
        "eval": eval_data and eval_data.split,
        "keep": checkpoints.save.keep,
        "rules": len(partitioner.rules),
        "rate": trainer_cls(model).learning_rate(50),
        "steps": steps,
        "every": eval_every,
        "seed": seed,
        "width": model.width,
        "text": summarize("x"),
    }


def summary(text: str) -> str:
    return f"<{text}>"


def train(
    model: fdl.Buildable[Model],
    directory: Optional[str],
    steps: int,
    mixture: MixtureOrName,
    lengths: Mapping[str, int],
    eval_every: int = EVAL_EVERY,
    seed: Optional[int] = SEED,
    batch_size: int = BATCH_SIZE,
) -> fdl.Buildable:
    """What every run of the launcher has in common."""
    return fdl.Config(
        launch,
        model=model,
        directory=directory,
        train_data=dataset(mixture, copy.copy(lengths), batch_size, training=True),
        eval_data=dataset(mixture, copy.copy(lengths), batch_size, training=False),
        checkpoints=checkpoints(),
        partitioner=fdl.Config(Partitioner, partitions=1, rules=fdl.Config(axis_rules)),
        trainer_cls=fdl.Partial(
            Trainer,
            microbatches=None,
            learning_rate=fdl.ArgFactory(
                rsqrt_schedule, factors="constant * rsqrt", base=1.0, warmup=100
            ),
        ),
        steps=steps,
        eval_every=eval_every,
        seed=seed,
        summarize=summary,
    )


def checkpoints() -> fdl.Buildable[Checkpoints]:
    return fdl.Config(
        Checkpoints,
        restore=fdl.Config(Restore, path=[]),
        save=fdl.Config(Save, period=1000, keep=None),
    )


def dataset(
    mixture: MixtureOrName,
    lengths: Mapping[str, int],
    batch_size: int,
    training: bool,
) -> fdl.Buildable[Dataset]:
    return fdl.Config(
        Dataset,
        mixture=mixture,
        lengths=lengths,
        split="train" if training else "validation",
        batch_size=batch_size,
        shuffle=training,
        seed=None if training else 42,
        pack=True,
    )


def small_model(dropout: Optional[float] = None) -> fdl.Buildable[Model]:
    config = fdl.Config(Model, width=64)
    return fdl.copy_with(config, heads=2, dropout=0.0 if dropout is None else dropout)


def small() -> fdl.Buildable:
    """A small model on the usual mixture."""
    return train(
        small_model(),
        directory=None,
        steps=10,
        mixture="c4",
        lengths={"inputs": 512, "targets": 114},
    )
