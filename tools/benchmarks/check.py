"""What a whole check costs, beside one abstract evaluation of the same step.

CPU seconds of this process, imports left out. The models are traced, never made: from
a million parameters to a hundred billion; meshes are abstract too.
"""

from __future__ import annotations

import dataclasses
import gc
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import fiddle as fdl
import jax
import numpy as np

import fdlkit
from fdlkit.data.pipeline import Pipeline
from fdlkit.data.source import Source
from fdlkit.data.spec import ArraySpec
from fdlkit.data.tokenizer import ByteTokenizer, Tokenizer
from fdlkit.train.models import as_model
from fdlkit.train.setup import using
from fdlkit.train.step import make_train_step

LIMIT = 3.0


@dataclasses.dataclass(frozen=True)
class Size:
    """A model of this size, on a mesh that divides it.

    Attributes:
      hidden: The width of the residual stream.
      layers: How many layers.
      heads: How many heads.
      vocab: The number of tokens.
      time: The length of a row.
    """

    hidden: int
    layers: int
    heads: int
    vocab: int
    time: int


MODELS = {
    "1 M": Size(128, 4, 4, 256, 128),
    "1 B": Size(2048, 20, 16, 32768, 1024),
    "100 B": Size(12288, 55, 96, 51200, 2048),
}
MESHES: Mapping[int, Mapping[str, int]] = {
    8: {"data": 2, "fsdp": 4},
    64: {"data": 16, "fsdp": 4},
    512: {"data": 32, "fsdp": 16},
    4096: {"data": 64, "fsdp": 64},
}


@dataclasses.dataclass(frozen=True)
class Rows(Source):
    """Rows of tokens that are never read.

    Attributes:
      time: The length of a row.
    """

    time: int

    def __len__(self) -> int:
        return 1_000_000

    def take(self, indices: np.ndarray, epochs: np.ndarray) -> dict[str, np.ndarray]:
        """Refuses: a check reads no row."""
        raise RuntimeError("a row was read")

    def example_spec(self) -> dict[str, ArraySpec]:
        """The specs of a row."""
        spec = ArraySpec(shape=(self.time,), dtype=np.dtype(np.int32), axes=("time",))
        return {"tokens": spec, "labels": spec}

    def text_tokenizer(self) -> Tokenizer:
        """Bytes."""
        return ByteTokenizer()


def experiment(size: Size) -> Any:
    """`lm.py:base` at another size, on rows that are not there."""
    cfg = fdlkit.load("experiments/lm.py:base")
    model = cfg.model
    model.hidden, model.vocab_size = size.hidden, size.vocab
    model.layers.n = size.layers
    model.layers.block.attention.num_heads = size.heads
    for name in ("train_data", "eval_data"):
        evaluation = name == "eval_data"
        pipeline = fdl.Config(
            Pipeline,
            source=fdl.Config(Rows, time=size.time),
            batch_size=4096,
            shuffle=not evaluation,
            num_epochs=1 if evaluation else None,
            remainder="pad" if evaluation else "drop",
        )
        setattr(cfg, name, pipeline)
    return cfg


def evaluated(trainer: Any, shapes: Any, mesh: Any) -> Callable[[], Any]:
    """The peer: the step's own function under `jax.eval_shape`, traced anew."""

    def run() -> Any:
        step = make_train_step(
            as_model(trainer.model),
            trainer.losses,
            trainer.optimizer,
            inputs=trainer.inputs,
            schedules=trainer.all_schedules,
            log_every=trainer.log_every,
            num_train_steps=trainer.num_train_steps,
            seed=trainer.seed,
            rules=trainer.update_rules,
        )
        with using(mesh, trainer.rules):
            return jax.eval_shape(step, shapes.state, shapes.batch)

    return run


def cpu(run: Callable[[], Any]) -> float:
    """CPU seconds of one call."""
    gc.collect()
    began = time.process_time()
    run()
    return time.process_time() - began


def compare(
    size: Size, sizes: Mapping[str, int], rounds: int
) -> dict[str, list[float]]:
    """CPU seconds of the peer, of a check, and of the peer again, in turn."""
    cfg = experiment(size)
    trainer = fdlkit.build(cfg)
    mesh = dataclasses.replace(
        trainer.mesh, ici=dataclasses.replace(trainer.mesh.ici, **sizes)
    ).abstract()
    peer = evaluated(trainer, trainer.shapes(), mesh)
    found = fdlkit.check(cfg, mesh=sizes)
    if any(finding.severity == "error" for finding in found):
        raise RuntimeError(f"the benchmark's own experiment is broken: {found}")
    peer()  # both have run once: what JAX keeps for a process is kept
    seconds: dict[str, list[float]] = {"peer": [], "check": [], "again": []}
    for _ in range(rounds):
        seconds["peer"].append(cpu(peer))
        seconds["check"].append(cpu(lambda: fdlkit.check(cfg, mesh=sizes)))
        seconds["again"].append(cpu(peer))
    return seconds


def main(rounds: int) -> None:
    """Prints the table."""
    print(f"{'model':>6} {'devices':>8} {'eval_shape':>11} {'check':>8}  ratio A/A")
    worst = 0.0
    for name, size in MODELS.items():
        for devices, sizes in MESHES.items():
            seconds = compare(size, sizes, rounds)
            peers = [
                (a + b) / 2
                for a, b in zip(seconds["peer"], seconds["again"], strict=True)
            ]
            ratios = [a / b for a, b in zip(seconds["check"], peers, strict=True)]
            again = [
                b / a for a, b in zip(seconds["peer"], seconds["again"], strict=True)
            ]
            ratio = statistics.median(ratios)
            worst = max(worst, ratio)
            print(
                f"{name:>6} {devices:>8,} {1e3 * statistics.median(peers):>8.0f} ms "
                f"{1e3 * statistics.median(seconds['check']):>5.0f} ms {ratio:>6.2f} "
                f"{min(again):.2f}-{max(again):.2f}",
                flush=True,
            )
    print(f"worst ratio {worst:.2f}, at most {LIMIT} wanted")
