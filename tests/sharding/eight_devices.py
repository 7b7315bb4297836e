"""A program for eight virtual devices: prints what the tests look at, as JSON."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import jax

import fdlkit
from fdlkit.train.trainer import Trainer

MESHES = {
    "one device": {},
    "data=8": {"data": 8},
    "fsdp=8": {"fsdp": 8},
    "data=2,fsdp=2,tensor=2": {"data": 2, "fsdp": 2, "tensor": 2},
    "data=-1": {"data": -1},
}


def make(sizes: dict[str, int], **changes: int) -> Trainer:
    """`lm.py:tiny` on a mesh of these sizes."""
    cfg = fdlkit.load("experiments/lm.py:tiny")
    cfg.mesh.ici.data = 1
    for axis, size in sizes.items():
        setattr(cfg.mesh.ici, axis, size)
    cfg.eval_data = None
    cfg.writers = []
    cfg.num_train_steps = 12
    cfg.log_every = 4
    for name, value in changes.items():
        setattr(cfg, name, value)
    return fdlkit.build(cfg)


def on_devices(trainer: Trainer, count: int) -> None:
    """Lets the trainer see only the first `count` devices."""
    setup = trainer.setup_on(trainer.mesh.make(jax.devices()[:count]))
    # `setup` is a cached property: this is what it would have computed there.
    trainer.__dict__["setup"] = setup


def bytes_per_device(tree) -> dict[str, list[int]]:
    """Each device's bytes of every array."""
    found = {}
    for path, array in jax.tree_util.tree_leaves_with_path(tree):
        shards = sorted(array.addressable_shards, key=lambda s: s.device.id)
        found[jax.tree_util.keystr(path)] = [s.data.nbytes for s in shards]
    return found


def losses(workdir: Path) -> list[float]:
    lines = (workdir / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line)["loss"] for line in lines]


def main() -> None:
    results: dict[str, dict] = {}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, sizes in MESHES.items():
            trainer = make(sizes)
            on_devices(trainer, 8 if sizes else 1)
            state = trainer.init_state()
            results[name] = {
                "mesh": dict(trainer.setup.mesh.shape),
                "params": bytes_per_device(state.params),
                "moments": bytes_per_device(
                    [s for s in jax.tree.leaves(state.opt_state) if s.ndim]
                ),
                "total": sum(a.nbytes for a in jax.tree.leaves(state.params)),
            }
            trainer.train(root / name)
            results[name]["losses"] = losses(root / name)

        # One run that moves from eight devices to four and to one.
        for count, sizes, steps in (
            (8, {"data": 2, "fsdp": 2, "tensor": 2}, 4),
            (4, {"fsdp": 4}, 8),
            (1, {}, 12),
        ):
            trainer = make(sizes)
            on_devices(trainer, count)
            short = make(sizes, num_train_steps=steps)
            # The schedule must stay that of twelve steps.
            object.__setattr__(short, "optimizer", trainer.optimizer)
            object.__setattr__(short, "learning_rate", trainer.learning_rate)
            on_devices(short, count)
            short.train(root / "moving")
        results["moving"] = {"losses": losses(root / "moving")}
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
