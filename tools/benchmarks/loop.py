"""What the training loop costs beside a hand-written one, in one process."""

from __future__ import annotations

import functools
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

from fdlkit import build, load
from fdlkit.data.pipeline import Pipeline
from fdlkit.data.source import InMemory
from fdlkit.train import loop as train_loop
from fdlkit.train.checkpoints import CheckpointPolicy
from fdlkit.train.losses import SquaredError
from fdlkit.train.trainer import Trainer
from tools.benchmarks import hand_written
from tools.benchmarks.turns import Turns

LOG_EVERY = 100


class TinyMlp(nn.Module):
    """About 5,000 parameters."""

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """`[batch, 32]` to `[batch, 32]`."""
        return nn.Dense(32)(nn.tanh(nn.Dense(72)(x)))


def tiny_mlp(steps: int) -> tuple[Trainer, Callable[..., Any], str]:
    """A model whose step takes tens of microseconds: all that is left is the loop."""
    x = np.random.default_rng(0).normal(size=(4096, 32)).astype(np.float32)
    schedule = optax.constant_schedule(1e-3)
    trainer = Trainer(
        model=TinyMlp(),
        inputs={"x": "batch.x"},
        loss=SquaredError(),
        train_data=Pipeline(source=InMemory({"x": x, "labels": x}), batch_size=128),
        optimizer=optax.adam(schedule),
        learning_rate=schedule,
        num_train_steps=steps,
        log_every=LOG_EVERY,
        checkpoints=CheckpointPolicy(every=steps),
    )
    return trainer, lambda p, y: jnp.mean((p - y) ** 2, axis=-1), "x"


def lm_base(steps: int) -> tuple[Trainer, Callable[..., Any], str]:
    """`experiments/lm.py:base`, without its evaluation."""
    cfg = load("experiments/lm.py:base")
    cfg.num_train_steps = steps
    cfg.log_every = 10
    cfg.checkpoints.every = steps
    cfg.eval_data = None
    cfg.writers = []
    trainer = build(cfg)
    return trainer, optax.softmax_cross_entropy_with_integer_labels, "tokens"


def compare(
    name: str, make: Callable[[int], Any], steps: int, *, turn: int, rounds: int
) -> None:
    """One model under both loops."""
    trainer, per_row_loss, argument = make(steps)

    def hand(workdir: Path, at_log: Callable[[int], object]) -> None:
        hand_written.train(
            trainer.model,
            trainer.train_data,
            trainer.optimizer,
            schedule=trainer.learning_rate,
            per_row_loss=per_row_loss,
            argument=argument,
            steps=steps,
            log_every=trainer.log_every,
            workdir=workdir,
            at_log=at_log,
        )

    interleave(name, trainer, hand, rounds=rounds, turn=turn)


def interleave(
    name: str,
    trainer: Trainer,
    hand_loop: Callable[[Path, Callable[[int], object]], None],
    *,
    rounds: int,
    turn: int,
    after: int = 0,
) -> None:
    """Runs both loops, taking turns; prints medians, ratios and the A/A spread.

    Args:
      name: For the table.
      trainer: Ours.
      hand_loop: `(workdir, at_log)`: the peer, for as many steps.
      rounds: How often; the peer runs twice in each.
      turn: Steps of a turn.
      after: The step before which everything that is compiled has been.
    """
    log_every, steps = trainer.log_every, trainer.num_train_steps
    log_cpu: list[float] = []
    logged, settled = train_loop._Loop.log, train_loop._Loop.settle
    names = ["A", "ours", "A again"]

    def timed_log(self: Any, step: int, report: Any) -> None:
        began = time.thread_time()
        logged(self, step, report)
        log_cpu.append((time.thread_time() - began) * 1e6)

    results: dict[str, list[tuple[float, float]]] = {key: [] for key in names}
    setattr(train_loop._Loop, "log", timed_log)  # noqa: B010 - a method, for mypy
    try:
        for _ in range(rounds):
            turns = Turns(names, length=turn, first=after + turn, last=steps)

            def settle_and_wait(self: Any, count: int, turns: Turns = turns) -> None:
                settled(self, count)
                if not turns.is_over("ours", self.step):
                    return
                if self.reports:
                    self.reports[-1].block_until_ready()
                waited = turns.end("ours", self.step)
                # Nothing of this happened, as far as the loop can tell.
                self.clock.leave_out(waited)
                self.paced = (self.paced[0], self.paced[1] + waited)

            def hand(key: str, workdir: Path, turns: Turns = turns) -> None:
                hand_loop(workdir, lambda step: turns.end(key, step))

            setattr(train_loop._Loop, "settle", settle_and_wait)  # noqa: B010
            with tempfile.TemporaryDirectory() as a, tempfile.TemporaryDirectory() as b:
                turns.run(
                    {
                        "A": functools.partial(hand, "A", Path(a)),
                        "ours": functools.partial(trainer.train, Path(b) / "ours"),
                        "A again": functools.partial(hand, "A again", Path(b)),
                    }
                )
            for key in names:
                results[key].append(turns.per_step(key))
    finally:
        setattr(train_loop._Loop, "log", logged)  # noqa: B010
        setattr(train_loop._Loop, "settle", settled)  # noqa: B010

    print(
        f"{name}: {steps} steps in turns of {turn}, {rounds} rounds, "
        f"log every {log_every}"
    )
    for column, what in ((0, "wall a step"), (1, "loop thread CPU")):
        before, own_values, later = (
            [row[column] for row in results[key]] for key in ("A", "ours", "A again")
        )
        # The machine's own drift within a round cancels out in the peers' mean.
        hand_values = [(a + b) / 2 for a, b in zip(before, later, strict=True)]
        added = [a - b for a, b in zip(own_values, hand_values, strict=True)]
        ratio = [a / b for a, b in zip(own_values, hand_values, strict=True)]
        again = [b / a for a, b in zip(before, later, strict=True)]
        print(
            f"  {what:16} hand {statistics.median(hand_values):9.1f} µs   "
            f"fdlkit {statistics.median(own_values):9.1f} µs   "
            f"added {statistics.median(added):+.1f} µs   "
            f"ratio {_spread(ratio)}   A/A {_spread(again)}"
        )
    print(
        f"  a log event      {statistics.median(log_cpu):9.1f} µs of that thread "
        f"(largest {max(log_cpu):.1f})"
    )


def _spread(ratios: list[float]) -> str:
    return f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})"


def main(rounds: int) -> None:
    """Both models."""
    compare("5 k-parameter MLP", tiny_mlp, 6000, turn=500, rounds=rounds)
    compare("lm:base", lm_base, 60, turn=10, rounds=rounds)
