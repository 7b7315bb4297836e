"""Tiny twins on meshes of one device and of eight, in one slice and in two."""

from __future__ import annotations

import fiddle as fdl
import jax.numpy as jnp

import fdlkit
from experiments import pax
from fdlkit.train.trainer import Trainer

INSIDE = {"fsdp": 2, "tensor": 2}
# Sizes of mesh axes inside a slice, and across slices.
MESHES: dict[str, tuple[dict[str, int], dict[str, int]]] = {
    "plain": ({}, {}),
    "sharded": ({"data": 2, **INSIDE}, {}),
    "pipelined": ({"stage": 2, **INSIDE}, {}),
    "two slices": (INSIDE, {"data": 2}),
    "stages across slices": (INSIDE, {"stage": 2}),
}
STEPS = 4


def twin(target: str, mesh: str) -> fdl.Config[Trainer]:
    """A twin of a few steps, in float32: bfloat16 rounds each order of sums otherwise.

    Args:
      target: `c4.py:tiny`.
      mesh: One of `MESHES`.
    """
    cfg = fdlkit.load(f"experiments/{target}")
    pax.compute_in(cfg.model, jnp.float32)
    cfg.eval_data = None
    cfg.eval_every = None
    cfg.num_train_steps = STEPS
    cfg.log_every = 1
    cfg.mesh.ici.data = 1
    ici, dcn = MESHES[mesh]
    for part, sizes in ((cfg.mesh.ici, ici), (cfg.mesh.dcn, dcn)):
        for axis, size in sizes.items():
            setattr(part, axis, size)
    if "stage" in {**ici, **dcn}:
        pax.pipeline(cfg, num_stages=2, microbatch=4)
    return cfg
