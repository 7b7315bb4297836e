"""A program for eight virtual devices: losses of tiny twins by mesh, as JSON."""

from __future__ import annotations

import json

import jax
import jax.numpy as jnp

import fdlkit
from experiments import pax
from fdlkit.train.trainer import Trainer

MESHES = {
    "one device": {},
    "sharded": {"data": 2, "fsdp": 2, "tensor": 2},
    "pipelined": {"stage": 2, "fsdp": 2, "tensor": 2},
}
STEPS = 4


def make(target: str, sizes: dict[str, int]) -> Trainer:
    """A twin on a mesh, in float32: bfloat16 rounds each order of sums otherwise."""
    cfg = fdlkit.load(f"experiments/{target}")
    pax.compute_in(cfg.model, jnp.float32)
    cfg.eval_data = None
    cfg.mesh.ici.data = 1
    for axis, size in sizes.items():
        setattr(cfg.mesh.ici, axis, size)
    if "stage" in sizes:
        pax.pipeline(cfg, num_stages=sizes["stage"], microbatch=4)
    return fdlkit.build(cfg)


def losses(trainer: Trainer, devices: int) -> list[float]:
    # `setup` is a cached property: this is what it would have computed there.
    mesh = trainer.mesh.make(jax.devices()[:devices])
    trainer.__dict__["setup"] = trainer.setup_on(mesh)
    state, found = trainer.init_state(), []
    for batch, _ in zip(trainer.train_data.batches(), range(STEPS), strict=False):
        state, report = trainer.step(state, batch)
        found.append(float(report["loss"]))
    return found


def main() -> None:
    print(
        json.dumps(
            {
                target: {
                    name: losses(make(target, sizes), 8 if sizes else 1)
                    for name, sizes in MESHES.items()
                }
                for target in ("lm_cloud.py:tiny_spmd", "gpt3.py:tiny")
            }
        )
    )


if __name__ == "__main__":
    main()
