"""Whether the pipelines of a model fit mesh and batches, told before any trace."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import flax.linen as nn

from fdlkit.nn.repeat import Repeat
from fdlkit.nn.walk import submodules
from fdlkit.sharding.layout import AxisRules, mesh_spec, split_of

STAGE = "stage"  # the mesh axis that is for nothing but pipelines


@dataclasses.dataclass(frozen=True)
class StageFault:
    """One thing that is wrong with the stages of a model.

    Attributes:
      kind: `misfit`: a pipeline does not fit the mesh or a batch; `none`: the mesh has
        stages, and no stack of layers is computed in stages; `idle`: a pipeline is on
        several devices, and its stages are not cut over any.
      path: The field of the pipeline, or the stack that could have one.
      text: What is wrong.
      fix: What to do.
      nearest: Values of the field that would work, the nearest first.
    """

    kind: str
    path: str
    text: str
    fix: str
    nearest: tuple[int, ...] = ()


def stage_faults(
    model: nn.Module, *, mesh: Any, rules: AxisRules, batches: Mapping[str, int]
) -> Iterator[StageFault]:
    """Everything that is wrong with the stages of a model.

    Args:
      model: A module that is not bound, as it is built.
      mesh: A mesh, or an abstract one.
      rules: What mesh axes a logical axis is cut over.
      batches: The rows of each kind of global batch, by what it is called.
    """
    stacks = [(p, m) for p, m in submodules(model, "model") if isinstance(m, Repeat)]
    piped = [(path, stack) for path, stack in stacks if stack.pipeline is not None]
    if not piped:
        yield from _without(stacks, mesh, rules)
    for path, stack in piped:
        assert stack.pipeline is not None
        devices = _parts(stack.axis_name, rules, mesh)
        found = stack.pipeline.faults(
            batches, devices=devices, row_devices=_parts("batch", rules, mesh)
        )
        for fault in found:
            where = f"{path}.pipeline.{fault.field}"
            yield StageFault("misfit", where, fault.text, fault.fix, fault.nearest)
        stages = stack.pipeline.num_stages
        if devices == 1 and stages > 1 and mesh.size > 1:
            yield StageFault(
                "idle",
                f"{path}.pipeline",
                f"a pipeline of {stages} stages, and no mesh axis cuts "
                f"{stack.axis_name}: each device computes all stages, and "
                f"{100 * stack.pipeline.bubble:.0f} % of it for nothing",
                f"stage={stages} in the mesh, or pipeline=None",
            )


def _without(
    stacks: list[tuple[str, Repeat]], mesh: Any, rules: AxisRules
) -> Iterator[StageFault]:
    """Stages of a mesh over which nothing but the storage of layers is cut."""
    size = mesh.shape.get(STAGE, 1)
    users = {logical for logical, entry in rules if STAGE in _axes_in(entry)}
    stored = [(path, stack) for path, stack in stacks if stack.axis_name in users]
    if size == 1 or not stored or users - {stack.axis_name for _, stack in stored}:
        return
    path, stack = stored[0]
    yield StageFault(
        "none",
        path,
        f"the mesh has stage={size}, and {path} has no pipeline: {size} devices would "
        f"store its {stack.axis_name} in parts and compute the same",
        f"{path}.pipeline=Pipelining(num_stages={size},num_microbatches={2 * size}), "
        "or stage=1 and the devices to another axis (fsdp stores in parts too)",
    )


def _parts(axis: str, rules: AxisRules, mesh: Any) -> int:
    return split_of((*mesh_spec((axis,), rules), None)[0], mesh)


def _axes_in(entry: str | tuple[str, ...] | None) -> tuple[str, ...]:
    return (entry,) if isinstance(entry, str) else tuple(entry or ())
