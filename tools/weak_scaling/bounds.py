"""What a machine makes of a workload at best: a roofline with four ceilings."""

from __future__ import annotations

import dataclasses

from fdlkit.check import topology
from fdlkit.check.topology import CORES_TO_A_CHIP, Topology
from fdlkit.errors import UserError
from tools.weak_scaling import costs
from tools.weak_scaling.chips import CHIPS, PUBLISHED, links
from tools.weak_scaling.workloads import Workload


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cost:
    """What a step costs one chip.

    Attributes:
      model_flops: Its share of the model's FLOPs: what utilisation counts.
      flops: What it computes, and would while it waits in a pipeline.
      memory: Bytes to and from HBM.
      ici: Bytes received from its slice.
      dcn: Bytes received from other slices.
      state: Bytes of parameters and optimizer that it holds.
    """

    model_flops: float
    flops: float
    memory: float
    ici: float
    dcn: float
    state: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bound:
    """Utilisation (model FLOPs over the peak) on a machine, at most.

    Attributes:
      workload: The workload's name.
      machine: The slices, by name.
      cost: Of a chip.
      compute: If only computing took time.
      memory: If only HBM did.
      ici: If only ICI did, all links of a chip at work; None where nothing is sent.
      dcn: If only DCN did; None where nothing is sent.
      overlapped: If all four went on side by side: the least of them.
      in_turn: If they went on one after the other.
      state_fits: Whether the state alone is less than the memory of a chip.
      published: What others have measured on this machine; None: nothing.
    """

    workload: str
    machine: str
    cost: Cost
    compute: float
    memory: float
    ici: float | None
    dcn: float | None
    overlapped: float
    in_turn: float
    state_fits: bool
    published: float | None


def cost_of(work: Workload) -> Cost:
    """What one chip computes, reads and receives in a step of a workload."""
    sizes, rows = work.sizes, work.row_axes
    tensor, stage = sizes.parts(["tensor"]), sizes.parts(["stage"])
    tokens = work.rows * work.length / sizes.parts(rows)  # of one chip's rows
    # A stage that has nothing to do computes all the same, on rows that are dropped.
    layers = work.num_layers / stage / (1 - work.bubble)
    traffic = costs.tensor_traffic(
        sizes,
        tokens=tokens,
        hidden=work.hidden,
        layers=layers,
        itemsize=work.itemsize,
        remat=work.remat,
        vocab_is_cut="tensor" in work.vocab_axes,
    )
    weights = 0.0
    for array in work.arrays:
        traffic += costs.parameter_traffic(
            array,
            sizes,
            rows,
            itemsize=work.itemsize,
            times=work.iterations if array.in_layers else 1,
        )
        own = [axis for axis in array.axes if axis not in rows]
        weights += (
            array.elements
            / sizes.parts(own)
            * (work.iterations if array.in_layers else 1)
        )
    stream = tokens * work.hidden / tensor * work.itemsize
    traffic += costs.pipeline_traffic(
        sizes,
        iterations=work.iterations,
        microbatch=stream / work.microbatches,
        microbatches=work.microbatches,
    )
    logits = 6 * work.rows * work.length * work.hidden * work.vocab_size
    vocab_parts = sizes.parts(work.vocab_axes)
    layer_forward = (work.model_flops - logits) / 3
    recomputed = (work.traced_flops - work.model_flops) / layer_forward
    forward = costs.activation_bytes(
        hidden=work.hidden,
        width=work.width / tensor,
        heads=work.num_heads / tensor,
        head_dim=work.head_dim,
        length=work.length,
        itemsize=work.itemsize,
    )
    return Cost(
        model_flops=work.model_flops / work.chips,
        flops=costs.computed_flops(
            work.traced_flops,
            logits=logits,
            copies=work.chips / sizes.parts([*rows, *work.vocab_axes]),
            bubble=work.bubble,
            chips=work.chips,
        ),
        memory=costs.memory_bytes(
            weights=weights * work.itemsize,
            state=work.state,
            forward=forward * tokens * layers,
            logits=tokens
            * (work.hidden * work.itemsize + 4 * work.vocab_size / vocab_parts),
            recomputed=recomputed,
        ),
        ici=traffic.ici,
        dcn=traffic.dcn,
        state=work.state,
    )


def machine_for(work: Workload, kind: str) -> Topology | None:
    """The slices of a kind of chip that a workload's mesh fills; None: there are none.

    Args:
      work: The workload.
      kind: A key of `CHIPS`.
    """
    number = work.chips // work.slices * CORES_TO_A_CHIP[kind]
    several = f"{work.slices}x" if work.slices > 1 else ""
    try:
        return topology.parse(f"{several}{kind}-{number}")
    except UserError:
        return None


def bound_on(work: Workload, machine: Topology) -> Bound:
    """The utilisation that a machine allows a workload."""
    chip, cost = CHIPS[machine.kind], cost_of(work)
    best = cost.model_flops / chip.flops
    neighbours = links(machine)
    seconds = {
        "compute": cost.flops / chip.flops,
        "memory": cost.memory / chip.memory,
        "ici": cost.ici / (chip.link * neighbours) if cost.ici else 0.0,
        "dcn": cost.dcn / chip.network,
    }
    alone = {
        name: min(best / time, 1.0) if time else None for name, time in seconds.items()
    }
    assert alone["compute"] is not None
    assert alone["memory"] is not None
    published = PUBLISHED.get((machine.kind, work.name))
    return Bound(
        workload=work.name,
        machine=machine.text,
        cost=cost,
        compute=alone["compute"],
        memory=alone["memory"],
        ici=alone["ici"],
        dcn=alone["dcn"],
        overlapped=min(best / max(seconds.values()), 1.0),
        in_turn=best / sum(seconds.values()),
        state_fits=cost.state <= machine.memory,
        published=None if published is None else published[0],
    )
