"""A hand-written program with several losses, metrics, an evaluator and checkpoints.

What a JAX engineer writes without a trainer, as the peer to measure: the same model on
the same pipeline, the same outputs (means over a window of the total, of each loss and
of the gradient norm; the learning rate; at log points the parameter norm and five
metrics of that batch), an evaluation and a checkpoint every so many steps, and a JSON
line for each log point and evaluation.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp

Values = Callable[[jax.Array, jax.Array], jax.Array]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Experiment:
    """What is trained.

    Attributes:
      model: Takes one array.
      train_data: Batches with `labels`.
      eval_data: Batches with `labels` and `mask`.
      optimizer: Optax's.
      schedule: Its learning rate.
      losses: By name: a weight, and values `[batch, ...]` of predictions and labels.
      score: A metric's share of predictions and labels, `[batch, ...]`.
      argument: The entry of a batch that the model takes.
      steps: How many.
      log_every: Steps between log points.
      eval_every: Steps between evaluations.
      save_every: Steps between checkpoints.
    """

    model: nn.Module
    train_data: Any
    eval_data: Any
    optimizer: optax.GradientTransformation
    schedule: Callable[[Any], Any]
    losses: Mapping[str, tuple[float, Values]]
    score: Values
    argument: str
    steps: int
    log_every: int
    eval_every: int
    save_every: int


def train(made: Experiment, workdir: Path, at_log: Callable[[int], object]) -> None:
    """Trains; calls `at_log(k)` when the numbers of step k are there."""
    spec = made.train_data.spec()[made.argument]
    example = jnp.zeros(spec.shape, spec.dtype)
    names = tuple(made.losses)

    def apply(params: Any, batch: Any, rngs: Any = None) -> tuple[jax.Array, Any]:
        preds: Any = made.model.apply(
            {"params": params}, batch[made.argument], rngs=rngs
        )
        return preds, {
            name: values(preds, batch["labels"])
            for name, (_, values) in made.losses.items()
        }

    @jax.jit
    def init(key: jax.Array) -> Any:
        params = nn.meta.unbox(made.model.init(key, example)["params"])
        sums = jnp.zeros(3 + len(names))
        return params, made.optimizer.init(params), jnp.zeros((), jnp.int32), sums

    def step(state: Any, batch: Any) -> tuple[Any, jax.Array]:
        params, opt_state, number, sums = state

        def objective(params: Any) -> Any:
            rngs = {"dropout": jax.random.fold_in(jax.random.key(0), number)}
            preds, values = apply(params, batch, rngs)
            means = [values[name].mean() for name in names]
            weights = [made.losses[name][0] for name in names]
            total = sum(w * mean for w, mean in zip(weights, means, strict=True))
            return total, (preds, means)

        gradient = jax.value_and_grad(objective, has_aux=True)
        (total, (preds, means)), grads = gradient(params)
        updates, opt_state = made.optimizer.update(grads, opt_state, params)
        new_params = optax.apply_updates(params, updates)
        norm = optax.tree.norm(grads)
        sums = jnp.where(number % made.log_every == 0, 0.0, sums)
        sums += jnp.stack([jnp.float32(1), total, norm, *means])
        metrics = jax.lax.cond(
            (number + 1) % made.log_every == 0,
            lambda: jnp.stack(
                [
                    optax.tree.norm(new_params),
                    total,
                    jnp.mean(made.score(preds, batch["labels"])),
                    jnp.mean(preds),
                    optax.tree.norm(grads),
                    optax.tree.norm(updates),
                ]
            ),
            lambda: jnp.zeros(6),
        )
        rate = jnp.asarray(made.schedule(number), jnp.float32)
        out = jnp.concatenate([sums[1:] / sums[0], rate[None], metrics])
        return (new_params, opt_state, number + 1, sums), out

    @jax.jit
    def eval_step(params: Any, batch: Any) -> jax.Array:
        preds, values = apply(params, batch)
        mask = batch["mask"].reshape(batch["mask"].shape[0], -1)

        def share(elements: jax.Array) -> jax.Array:
            rows = elements.reshape(elements.shape[0], -1)
            weights = jnp.broadcast_to(mask, rows.shape)
            return jnp.stack([jnp.sum(rows * weights), jnp.sum(weights)])

        total = sum(w * values[name] for name, (w, _) in made.losses.items())
        return jnp.stack([share(total), share(made.score(preds, batch["labels"]))])

    def evaluate(params: Any) -> dict[str, float]:
        sums = np.zeros((2, 2))
        pending = [eval_step(params, batch) for batch in made.eval_data.batches()]
        for one in pending:
            sums += np.asarray(one, np.float64)
        return dict(
            zip(("eval/loss", "eval/score"), sums[:, 0] / sums[:, 1], strict=True)
        )

    compiled = jax.jit(step, donate_argnums=0)
    state = init(jax.random.key(0))
    batches = made.train_data.batches()
    began = time.perf_counter()
    shown = ("loss", "grad_norm", *names, "learning_rate", "param_norm")
    shown += (
        "train/loss",
        "train/score",
        "train/preds",
        "train/grads",
        "train/updates",
    )
    with (
        (workdir / "hand.jsonl").open("a") as file,
        ocp.CheckpointManager((workdir / "hand").absolute()) as manager,
    ):

        def tell(k: int, values: Mapping[str, float]) -> None:
            file.write(json.dumps({"step": k} | dict(values)) + "\n")
            file.flush()

        for k in range(1, made.steps + 1):
            state, out = compiled(state, next(batches))
            if k % made.log_every == 0:
                values = dict(zip(shown, out.tolist(), strict=True))
                values["steps_per_sec"] = made.log_every / (time.perf_counter() - began)
                began = time.perf_counter()
                tell(k, values)
                at_log(k)
            if k % made.eval_every == 0:
                tell(k, evaluate(state[0]))
            if k % made.save_every == 0:
                manager.save(k, args=ocp.args.StandardSave(state))
        jax.block_until_ready(state)
