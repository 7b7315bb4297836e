"""A program for eight virtual devices: losses of tiny twins by mesh, as JSON."""

from __future__ import annotations

import json

import jax

import fdlkit
from fdlkit.train.trainer import Trainer
from tests.experiments.twins import MESHES, STEPS, twin

# `c4.py` has the model of `lm_cloud.py`.
TARGETS = ("lm_cloud.py:tiny_spmd", "gpt3.py:tiny")


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
                    name: losses(fdlkit.build(twin(target, name)), 8 if ici else 1)
                    for name, (ici, dcn) in MESHES.items()
                    if not dcn  # on CPU a slice is a process
                }
                for target in TARGETS
            }
        )
    )


if __name__ == "__main__":
    main()
