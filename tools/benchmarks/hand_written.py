"""The program that a JAX engineer writes without a trainer, as the peer to measure.

It trains the same model on the same pipeline, computes the same outputs (means over a
window of loss and gradient norm, the learning rate, the parameter norm at log points),
writes a JSON line a log point and saves a checkpoint at the end. Run as a program it
prints a line when its first step is finished.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
import orbax.checkpoint as ocp


def train(
    model: nn.Module,
    pipeline: Any,
    optimizer: optax.GradientTransformation,
    *,
    schedule: Callable[[Any], Any],
    per_row_loss: Callable[[jax.Array, jax.Array], jax.Array],
    argument: str,
    steps: int,
    log_every: int,
    workdir: Path,
    at_log: Callable[[int], object],
) -> None:
    """Trains for `steps`; calls `at_log(k)` when the numbers of step k are there."""
    example = {name: jnp.zeros(s.shape, s.dtype) for name, s in pipeline.spec().items()}

    @jax.jit
    def init(key: jax.Array) -> Any:
        params = nn.meta.unbox(model.init(key, example[argument])["params"])
        return params, optimizer.init(params), jnp.zeros((), jnp.int32), jnp.zeros(3)

    def step(state: Any, batch: Any) -> tuple[Any, jax.Array]:
        params, opt_state, number, sums = state

        def objective(params: Any) -> jax.Array:
            rngs = {"dropout": jax.random.fold_in(jax.random.key(0), number)}
            preds: Any = model.apply({"params": params}, batch[argument], rngs=rngs)
            return per_row_loss(preds, batch["labels"]).mean()

        loss, grads = jax.value_and_grad(objective)(params)
        updates, opt_state = optimizer.update(grads, opt_state, params)
        params = optax.apply_updates(params, updates)
        sums = jnp.where(number % log_every == 0, 0.0, sums)
        sums += jnp.stack([jnp.float32(1), loss, optax.tree.norm(grads)])
        logged = (number + 1) % log_every == 0
        norm = jax.lax.cond(
            logged, lambda: optax.tree.norm(params), lambda: jnp.float32(0)
        )
        out = jnp.stack([sums[1] / sums[0], sums[2] / sums[0], schedule(number), norm])
        return (params, opt_state, number + 1, sums), out

    compiled = jax.jit(step, donate_argnums=0)
    state = init(jax.random.key(0))
    batches = pipeline.batches()
    began = time.perf_counter()
    with (workdir / "hand.jsonl").open("a") as file:
        for k in range(1, steps + 1):
            state, out = compiled(state, next(batches))
            if k % log_every == 0:
                names = ("loss", "grad_norm", "learning_rate", "param_norm")
                values = dict(zip(names, out.tolist(), strict=True))
                values["steps_per_sec"] = log_every / (time.perf_counter() - began)
                began = time.perf_counter()
                file.write(json.dumps({"step": k} | values) + "\n")
                file.flush()
                at_log(k)
    jax.block_until_ready(state)
    with ocp.CheckpointManager((workdir / "hand").absolute()) as manager:
        manager.save(steps, args=ocp.args.StandardSave(state[0]))


def main() -> None:
    """The language model of `experiments/lm.py:base`, one step."""
    from fdlkit.data.corpus import StdlibCorpus
    from fdlkit.data.pipeline import Pipeline
    from fdlkit.data.tokenizer import ByteTokenizer
    from fdlkit.data.windows import TokenWindows
    from fdlkit.nn.attention import SelfAttention
    from fdlkit.nn.block import Block
    from fdlkit.nn.embed import Embed
    from fdlkit.nn.mlp import Mlp
    from fdlkit.nn.repeat import Repeat
    from fdlkit.nn.transformer import Transformer

    width = 128
    model = Transformer(
        vocab_size=256,
        hidden=width,
        embed=Embed(vocab_size=256, features=width),
        output=Embed(vocab_size=256, features=width),
        layers=Repeat(
            block=Block(
                attention=SelfAttention(features=width, num_heads=4),
                mlp=Mlp(features=width, width=4 * width),
            ),
            n=4,
        ),
    )
    schedule = optax.warmup_cosine_decay_schedule(0.0, 3e-3, 75, 1500, 3e-4)
    with tempfile.TemporaryDirectory() as folder:
        train(
            model,
            Pipeline(
                source=TokenWindows(
                    StdlibCorpus(split="train"), ByteTokenizer(), length=128
                ),
                batch_size=8,
            ),
            optax.chain(
                optax.clip_by_global_norm(1.0),
                optax.adamw(schedule, b2=0.98, weight_decay=0.1),
            ),
            schedule=schedule,
            per_row_loss=optax.softmax_cross_entropy_with_integer_labels,
            argument="tokens",
            steps=1,
            log_every=1,
            workdir=Path(folder),
            at_log=lambda k: print(f"step {k}", file=sys.stderr, flush=True),
        )


if __name__ == "__main__":
    main()
