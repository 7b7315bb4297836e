"""The axes level: mesh, rules, and whether every array comes out even."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fdlkit.check import (
    arrays,
    batches,
    jaxprs,
    layouts,
    meshes,
    pipelines,
    trace,
    unused,
)
from fdlkit.check.watching import BadConstraintError
from fdlkit.nn.stages import STAGE
from fdlkit.sharding.mesh import MESH_AXES

if TYPE_CHECKING:
    from fdlkit.check.findings import Finding
    from fdlkit.check.subject import Subject


def find(subject: Subject) -> Iterator[Finding]:
    """Everything that is wrong with axes."""
    if subject.trainer is None:
        return
    yield from _mesh(subject)
    yield from _slow_links(subject)
    yield from _rules(subject)
    yield from batches.find(subject)
    if subject.mesh is None:
        return
    mesh = dict(subject.mesh.shape)
    _, rules = layouts.rule_faults(subject.trainer.rules, MESH_AXES)
    staged = list(pipelines.find(subject, rules))
    yield from staged
    traced = subject.trace
    parameters = [] if traced.shapes is None else trace.parameters(traced.shapes)
    constrained = list(traced.watch.constraints)
    yield from arrays.find(subject, parameters, constrained, rules, mesh)
    for failure in traced.watch.failures:
        if isinstance(failure.error, BadConstraintError):
            yield arrays.bad_names(subject, failure.error.array, str(failure.error))
    if traced.step is not None:
        raw = dict.fromkeys(jaxprs.constraints(traced.step))
        yield from arrays.uneven_constraints(
            subject, list(raw), constrained, rules, mesh
        )
        by_hand = {axis for _, cut in raw for axes in cut for axis in axes}
        told = {STAGE} if staged else set()
        yield from unused.find(
            subject, parameters, constrained, rules, {*by_hand, *told}
        )


def _mesh(subject: Subject) -> Iterator[Finding]:
    assert subject.trainer is not None
    request = subject.request
    mesh = subject.configured_mesh
    assert mesh is not None
    for fault in meshes.mesh_faults(
        mesh, devices=request.devices, slices=request.slices
    ):
        code = {"product": "AX005", "slices": "AX006"}.get(fault.kind, "AX002")
        path = "mesh" if request.mesh else f"mesh.{fault.part}"
        if fault.axis and not request.mesh:
            path = f"{path}.{fault.axis}"
        yield subject.finding(
            code,
            path,
            fault.text,
            fix=f"set it to {' or '.join(fault.nearest)}"
            if fault.kind != "slices"
            else f"use {' or '.join(fault.nearest) or 'one slice'}",
            numbers={"devices": request.devices or 0, "idle": fault.idle},
            nearest=fault.nearest,
        )


def _slow_links(subject: Subject) -> Iterator[Finding]:
    """Axes across slices whose devices exchange something in every layer."""
    for axis, size in subject.across.items():
        if axis in ("tensor", "context"):
            path = "mesh" if subject.request.mesh else f"mesh.dcn.{axis}"
            yield subject.finding(
                "AX020",
                path,
                f"dcn.{axis}={size} goes across slices, and its devices exchange "
                "activations in every layer",
                fix=f"{axis} inside a slice (mesh.ici.{axis}); data or stage across",
                numbers={axis: size},
            )


def _rules(subject: Subject) -> Iterator[Finding]:
    assert subject.trainer is not None
    wrong, _ = layouts.rule_faults(subject.trainer.rules, MESH_AXES)
    for fault in wrong:
        if fault.kind == "shape":
            text = (
                f"{fault.axis} is no rule: a rule is (logical axis, mesh axes or None)"
            )
            fix = "write it like ('mlp', 'tensor'), ('batch', ('data', 'fsdp'))"
        elif fault.kind == "twice":
            text = (
                f"the rule of logical axis {fault.logical!r} names the mesh axis "
                f"{fault.axis!r} twice"
            )
            fix = f"name {fault.axis!r} once"
        else:
            text = (
                f"the rule of logical axis {fault.logical!r} names {fault.axis!r}, "
                "which is not a mesh axis"
            )
            fix = f"use one of {', '.join(MESH_AXES)}"
        yield subject.finding(
            "AX001",
            f"rules[{fault.index}]",
            text,
            fix=fix,
            meant=fault.meant,
            nearest=() if fault.kind != "unknown" else MESH_AXES,
        )
