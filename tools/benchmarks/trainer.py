"""What the whole trainer costs beside a hand-written program that computes the same.

Three losses, five metrics at log points, an evaluator and a checkpointer are on.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

import fdlkit
from fdlkit.data.pipeline import Pipeline
from fdlkit.data.source import InMemory
from fdlkit.data.tokenizer import ByteTokenizer, Tokenizer
from fdlkit.keys import Key
from fdlkit.train.checkpoints import CheckpointPolicy
from fdlkit.train.losses import Loss
from fdlkit.train.metrics import MeanLoss, Ratio
from fdlkit.train.metrics_of_values import Mean, TreeNorm
from fdlkit.train.trainer import Trainer
from tools.benchmarks import hand_trainer
from tools.benchmarks.loop import TinyMlp, interleave


@dataclasses.dataclass(frozen=True, kw_only=True)
class Elementwise(Loss):
    """A loss of predictions and labels by a function that the peer uses too.

    Attributes:
      of: `(predictions, labels)` to values, `[batch, ...]`.
      predictions: Key path.
      labels: Key path.
    """

    of: hand_trainer.Values
    predictions: Key = "preds"
    labels: Key = "batch.labels"

    def values(self, *, predictions: jax.Array, labels: jax.Array) -> jax.Array:
        """What the function says."""
        return self.of(predictions, labels)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Score(Ratio):
    """The mean of a function of predictions and labels.

    Attributes:
      of: `(predictions, labels)` to shares, `[batch, ...]`.
      predictions: Key path.
      labels: Key path.
    """

    of: hand_trainer.Values
    predictions: Key = "preds"
    labels: Key = "batch.labels"

    def state(
        self, *, predictions: jax.Array, labels: jax.Array, mask: jax.Array | None
    ) -> Any:
        """The function's values and how much each counts."""
        return self.share(self.of(predictions, labels), mask)


def by_row(
    function: Callable[[jax.Array, jax.Array], jax.Array],
) -> hand_trainer.Values:
    """The mean over each row."""
    return lambda p, y: jnp.mean(function(p, y), axis=-1)


MLP_LOSSES: Mapping[str, tuple[float, hand_trainer.Values]] = {
    "square": (1.0, by_row(lambda p, y: jnp.square(p - y))),
    "huber": (0.5, by_row(optax.huber_loss)),
    "log_cosh": (0.25, by_row(optax.log_cosh)),
}
LM_LOSSES: Mapping[str, tuple[float, hand_trainer.Values]] = {
    "nats": (1.0, optax.softmax_cross_entropy_with_integer_labels),
    "z": (1e-4, lambda p, y: jnp.square(jax.nn.logsumexp(p, axis=-1))),
    "mean": (1e-4, lambda p, y: jnp.mean(jnp.square(p), axis=-1)),
}


class ByteRows(InMemory):
    """Arrays of bytes that were read from a text."""

    def text_tokenizer(self) -> Tokenizer | None:
        """The bytes' own."""
        return ByteTokenizer()


def tiny_mlp(steps: int) -> hand_trainer.Experiment:
    """A step of tens of microseconds."""
    x = np.random.default_rng(0).normal(size=(4096, 32)).astype(np.float32)
    rows = InMemory({"x": x, "labels": x})
    schedule = optax.constant_schedule(1e-3)
    return hand_trainer.Experiment(
        model=TinyMlp(),
        train_data=Pipeline(source=rows, batch_size=128),
        eval_data=Pipeline(
            source=InMemory({"x": x[:1000], "labels": x[:1000]}),
            batch_size=128,
            shuffle=False,
            num_epochs=1,
            remainder="pad",
        ),
        optimizer=optax.adam(schedule),
        schedule=schedule,
        losses=MLP_LOSSES,
        score=lambda p, y: jnp.mean(jnp.abs(p - y) < 0.1, axis=-1),
        argument="x",
        steps=steps,
        log_every=100,
        eval_every=steps // 3,
        save_every=steps // 3,
    )


def small_transformer(steps: int) -> hand_trainer.Experiment:
    """`experiments/lm.py:base`, narrower: a step of some ten milliseconds."""
    cfg = fdlkit.load("experiments/lm.py:base")
    cfg.model.hidden = 64
    cfg.model.layers.n = 2
    cfg.train_data.source.length = cfg.eval_data.source.length = 64
    cfg.num_train_steps = steps
    trainer = fdlkit.build(cfg)
    schedule = trainer.learning_rate
    some = next(trainer.eval_data.batches())
    rows = {name: some[name] for name in ("tokens", "labels")}
    return hand_trainer.Experiment(
        model=trainer.model,
        train_data=trainer.train_data,
        eval_data=Pipeline(
            source=ByteRows(rows),
            batch_size=8,
            shuffle=False,
            num_epochs=1,
            remainder="pad",
        ),
        optimizer=trainer.optimizer,
        schedule=schedule,
        losses=LM_LOSSES,
        score=lambda p, y: (jnp.argmax(p, axis=-1) == y).astype(jnp.float32),
        argument="tokens",
        steps=steps,
        log_every=20,
        eval_every=steps // 3,
        save_every=steps // 3,
    )


def trainer_of(made: hand_trainer.Experiment) -> Trainer:
    """The trainer of the same experiment."""
    return Trainer(
        model=made.model,
        inputs={made.argument: f"batch.{made.argument}"},
        loss={
            name: Elementwise(of=values, weight=weight)
            for name, (weight, values) in made.losses.items()
        },
        train_data=made.train_data,
        eval_data=made.eval_data,
        optimizer=made.optimizer,
        learning_rate=made.schedule,
        metrics={"loss": MeanLoss(), "score": Score(of=made.score)},
        train_metrics={
            "loss": MeanLoss(),
            "score": Score(of=made.score),
            "preds": Mean(values="preds"),
            "grads": TreeNorm(tree="grads"),
            "updates": TreeNorm(tree="updates"),
        },
        num_train_steps=made.steps,
        log_every=made.log_every,
        eval_every=made.eval_every,
        checkpoints=CheckpointPolicy(every=made.save_every),
    )


def compare(
    name: str, made: hand_trainer.Experiment, *, turn: int, rounds: int
) -> None:
    """One model under both programs, and how often the step was compiled."""
    compiled: list[str] = []

    def heard(event: str, duration_secs: float, **details: Any) -> None:
        del duration_secs
        if event.endswith("backend_compile_duration"):
            compiled.append(str(details.get("fun_name")))

    def hand(workdir: Path, at_log: Callable[[int], object]) -> None:
        hand_trainer.train(made, workdir, at_log)

    jax.monitoring.register_event_duration_secs_listener(heard)
    interleave(
        name,
        trainer_of(made),
        hand,
        rounds=rounds,
        turn=turn,
        after=made.eval_every,
    )
    steps = sum("train_step" in what for what in compiled)
    print(f"  compilations of the trainer's step: {steps} in {rounds} runs")


def main(rounds: int) -> None:
    """Both models."""
    compare("5 k-parameter MLP, all on", tiny_mlp(6000), turn=500, rounds=rounds)
    compare("small Transformer, all on", small_transformer(600), turn=40, rounds=rounds)
