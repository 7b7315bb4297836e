"""The bytes level: what is whole on every device, and what does not fit one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fdlkit.check import footprint, layouts, module_paths
from fdlkit.check.footprint import Footprint, Whole
from fdlkit.check.sizes import size_of
from fdlkit.errors import UserError
from fdlkit.sharding.mesh import MESH_AXES

if TYPE_CHECKING:
    from fdlkit.check.findings import Finding
    from fdlkit.check.subject import Subject
    from fdlkit.check.topology import Topology
    from fdlkit.train.setup import Shapes

# Less than this share of the parameters' bytes is not worth a word.
TOLERANCE = 0.02

_MOST_ARRAYS = 8


def find(subject: Subject) -> Iterator[Finding]:
    """What the bytes of a run say."""
    if subject.trainer is None or subject.mesh is None:
        return
    shapes = subject.trace.shapes
    if shapes is None:
        return
    _, rules = layouts.rule_faults(subject.trainer.rules, MESH_AXES)
    mesh = dict(subject.mesh.shape)
    try:
        whole, total = footprint.whole_parameters(
            shapes, rules=rules, mesh=mesh, stacks=module_paths.stacks(subject)
        )
    except (UserError, ValueError):
        return  # names that no layout can be made of: told by the axes level
    yield from _replicated(subject, shapes, whole, total, mesh)
    if subject.request.topology is not None:
        held = footprint.footprint(shapes, subject.trace.step, rules=rules, mesh=mesh)
        yield from _capacity(subject, subject.request.topology, held)


def _capacity(
    subject: Subject, machine: Topology, held: Footprint
) -> Iterator[Finding]:
    parts = (
        f"parameters {size_of(held.parameters)}, optimizer {size_of(held.optimizer)}, "
        f"{f'average {size_of(held.average)}, ' if held.average else ''}"
        f"batch {size_of(held.batch)}"
    )
    numbers = {
        "parameters": held.parameters,
        "optimizer": held.optimizer,
        **({"average": held.average} if held.average else {}),
        "batch": held.batch,
        "working": held.working or 0,
        "memory": machine.memory,
    }
    if held.state > machine.memory:
        times = held.state / machine.memory
        yield subject.finding(
            "BY002",
            "mesh",
            f"the state of one device is {size_of(held.state)} ({parts}), and a device "
            f"of {machine.text} has {size_of(machine.memory)}",
            fix=f"cut parameters over {times:.1f} times as many devices (fsdp, tensor)",
            numbers=numbers,
        )
    elif held.total > machine.memory:
        yield subject.finding(
            "BY003",
            "model",
            f"one device needs {size_of(held.total)} by an estimate ({parts}, working "
            f"{size_of(held.working or 0)}), and one of {machine.text} has "
            f"{size_of(machine.memory)}",
            fix="keep less (Repeat.remat='full'), or give a device fewer rows at a "
            "time: microbatches, a smaller batch, or more devices over it",
            numbers=numbers,
        )


def _replicated(
    subject: Subject,
    shapes: Shapes,
    whole: list[Whole],
    total: int,
    mesh: layouts.MeshShape,
) -> Iterator[Finding]:
    share = sum(one.bytes for one in whole) / max(total, 1)
    if share < TOLERANCE:
        return
    names = footprint.names_of(shapes)
    devices = 1
    for size in mesh.values():
        devices *= size
    told = [
        f"{one.path} {list(one.shape)}: {size_of(one.bytes)}, "
        f"{_percent(one.bytes / total)}; {one.axis}={mesh[one.axis]} could cut its "
        f"{_dim(names.get(one.path, ()), one.dim)}"
        for one in whole[:_MOST_ARRAYS]
    ]
    more = [f"and {len(whole) - _MOST_ARRAYS} more"] if whole[_MOST_ARRAYS:] else []
    worst = whole[0]
    yield subject.finding(
        "BY001",
        module_paths.place_of(subject, worst.path.split("/")[1:-1]),
        "\n".join(
            [
                f"{_percent(share)} of the parameters' bytes "
                f"({size_of(sum(one.bytes for one in whole))} of {size_of(total)}) are "
                f"whole on each of {devices} devices, and could be cut",
                *told,
                *more,
            ]
        ),
        fix="give the dim a logical name that rules cut: nn.with_logical_partitioning",
        subject=worst.path,
        numbers={
            "percent": round(100 * share, 2),
            "bytes": sum(one.bytes for one in whole),
            "total_bytes": total,
            "arrays": len(whole),
        },
    )


def _dim(names: tuple[str | None, ...], dim: int) -> str:
    name = names[dim] if dim < len(names) else None
    return name or f"dim {dim}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share < 0.0995 else f"{100 * share:.0f} %"
