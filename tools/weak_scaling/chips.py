"""What chips can do, each figure with its source, and what was measured on them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from fdlkit.check.topology import Topology
from fdlkit.train.throughput import PEAK_FLOPS

BOOK = "jax-ml/scaling-book, tpus.md"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Chip:
    """What one chip can do at most.

    Attributes:
      flops: Dense bfloat16 FLOP/s. Products of float32 arrays run at the same rate at
        JAX's default precision, which rounds their operands to bfloat16.
      memory: Bytes/s between the chip and its HBM.
      link: Bytes/s of one link to a neighbour (ICI), one way.
      network: Bytes/s between a chip's host and other slices (DCN), the host's share
        for one chip.
    """

    flops: float
    memory: float
    link: float
    network: float


# `flops`: Google's data sheets, as in `fdlkit.train.throughput`. All others: the tables
# of BOOK ("HBM BW/chip", "ICI BW/link (one-way)") and the sentence on DCN below them.
CHIPS: Mapping[str, Chip] = {
    "v4": Chip(flops=PEAK_FLOPS["TPU v4"], memory=1.2e12, link=4.5e10, network=6.25e9),
    "v5p": Chip(flops=PEAK_FLOPS["TPU v5"], memory=2.8e12, link=9e10, network=6.25e9),
    "v5e": Chip(
        flops=PEAK_FLOPS["TPU v5e"], memory=8.1e11, link=4.5e10, network=3.125e9
    ),
    "v6e": Chip(flops=PEAK_FLOPS["TPU v6"], memory=1.6e12, link=9e10, network=12.5e9),
}

# Model FLOPs utilisation that others have published.
PAX = "google/paxml, README.md, the graph of weak scaling on TPU v4, read by eye"
MAXTEXT = "AI-Hypercomputer/maxtext, MaxText/configs/v4/README.md"
MAXTEXT_RANGE = "AI-Hypercomputer/maxtext, docs/reference/models/tiering.md"
PUBLISHED: Mapping[tuple[str, str], tuple[float, str]] = {
    ("v4", "spmd_16b_adam_32replicas"): (0.42, PAX),
    ("v4", "lm_cloud_spmd_32b"): (0.42, PAX),
    ("v4", "lm_cloud_spmd_128b"): (0.48, PAX),
    ("v4", "lm_cloud_spmd_256b"): (0.53, PAX),
    ("v4", "lm_cloud_spmd_512b"): (0.49, PAX),
    ("v4", "lm_cloud_spmd_1024b"): (0.53, PAX),
    ("v4", "spmd_22b_adam_1xv4_128"): (0.567, MAXTEXT),
    ("v4", "spmd_22b_adam_2xv4_128"): (0.552, MAXTEXT),
    ("v4", "spmd_22b_adam_4xv4_128"): (0.543, MAXTEXT),
}


def links(machine: Topology) -> int:
    """Over how many links the chip at a corner of a slice gets data.

    Along a side of one chip it has no neighbour. Along a closed one it has two, of
    which a side of two chips makes one; along an open one it has one, and whatever all
    chips are to get has to come to it too.
    """
    return sum(
        0 if side == 1 else 2 if closed and side > 2 else 1
        for side, closed in zip(machine.sides, machine.wraps, strict=False)
    )
