from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from recipes import run

NAME = "small_llama"


@dataclasses.dataclass
class LlamaConfig:
    hidden: int = 64
    heads: int = 4
    rotary_base: float = 500_000.0


@dataclasses.dataclass
class Llama:
    config: LlamaConfig
    tokenizer: Any = None


@dataclasses.dataclass
class Strategy:
    tensor: int = 1
    context: int = 1
    pipeline_dtype: Any = None
    overlap: bool = False


@dataclasses.dataclass
class Timing:
    every: int = 1


@dataclasses.dataclass
class Overlap:
    tensor: bool = False


@dataclasses.dataclass
class Trainer:
    devices: int
    nodes: int
    max_steps: int
    strategy: Strategy
    callbacks: list[Any] | None = None


@dataclasses.dataclass
class Batches:
    length: int
    global_batch: int
    micro_batch: int = 1


@dataclasses.dataclass
class Adam:
    rate: float
    betas: tuple[float, float] = (0.9, 0.95)


@dataclasses.dataclass
class Resume:
    path: str | None = None


@dataclasses.dataclass
class Lora:
    rank: int = 8


def pretrain(model, trainer, data, log, optim, resume=None, peft=None):
    return ("pretrain", model, trainer, data, log, optim, resume, peft)


def finetune(model, trainer, data, log, optim, resume=None, peft=None):
    return ("finetune", model, trainer, data, log, optim, resume, peft)


@run.factory(name=NAME)
def model() -> run.Config[Llama]:
    """The model alone."""
    return run.Config(Llama, config=run.Config(LlamaConfig))


def trainer(
    tensor: int = 1,
    context: int = 2,
    nodes: int = 1,
    devices: int = 8,
    max_steps: int = 1_000,
    callbacks: list[run.Config] | None = None,
) -> run.Config[Trainer]:
    strategy = run.Config(Strategy, tensor=tensor, context=context)
    return run.Config(
        Trainer,
        devices=devices,
        nodes=nodes,
        max_steps=max_steps,
        strategy=strategy,
        callbacks=callbacks,
    )


@run.factory(target=pretrain, name=NAME)
def pretrain_recipe(
    name: str = "default",
    nodes: int = 1,
    devices: int = 8,
    fn: Callable = pretrain,
) -> run.Partial:
    """All that pretraining needs but the log, which the launcher gives."""
    return run.Partial(
        fn,
        model=model(),
        trainer=trainer(nodes=nodes, devices=devices, callbacks=[run.Config(Timing)]),
        data=run.Config(Batches, length=8192, global_batch=512),
        optim=run.Config(Adam, rate=3e-4),
        resume=run.Config(Resume),
    )


def fast_recipe(name: str = "fast", nodes: int = 1) -> run.Partial:
    """With what does not always work."""
    recipe = pretrain_recipe(name=name, nodes=nodes)
    recipe.trainer.callbacks.append(run.Config(Overlap, tensor=False))
    return recipe


@run.factory(target=finetune, name=NAME)
def finetune_recipe(name: str = "default", nodes: int = 1) -> run.Partial:
    recipe = pretrain_recipe(name=name, nodes=nodes, fn=finetune)
    recipe.resume = run.Config(Resume, path="hf://someone/llama")
    recipe.peft = run.Config(Lora)
    return recipe
