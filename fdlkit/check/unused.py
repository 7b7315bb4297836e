"""What the axes level says of mesh axes: those over which nothing is cut."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from fdlkit.check import batches, layouts, module_paths
from fdlkit.check.layouts import NamedArray
from fdlkit.sharding.layout import AxisRules

if TYPE_CHECKING:
    from fdlkit.check.findings import Finding
    from fdlkit.check.subject import Subject


def find(
    subject: Subject,
    parameters: Sequence[NamedArray],
    activations: Sequence[NamedArray],
    rules: AxisRules,
    by_hand: Collection[str],
) -> Iterator[Finding]:
    """Mesh axes of more than one device that cut nothing, or stacked layers alone."""
    assert subject.mesh is not None
    cuts_parameters = _axes_used(parameters, rules)
    cuts_inside = _axes_used(parameters, rules, but=module_paths.stacks(subject))
    cuts_activations = {
        *_axes_used(activations, rules),
        *batches.axes(rules),
        *by_hand,
    }
    for axis, size in subject.mesh.shape.items():
        if size == 1 or axis in cuts_activations or axis in cuts_inside:
            continue
        numbers = {axis: size}
        path = _axis_path(subject, axis)
        if axis in cuts_parameters:
            yield subject.finding(
                "AX012",
                path,
                f"{axis}={size} cuts stacked layers, and nothing that is computed "
                f"with: {size} devices compute the same",
                fix=f"{axis}=1, and the devices to another axis",
                numbers=numbers,
            )
            continue
        users = sorted(
            str(logical) for logical, entry in rules if axis in layouts.axes_of(entry)
        )
        of = f"no array has a dim {' or '.join(users)}" if users else "no rule names it"
        yield subject.finding(
            "AX011",
            path,
            f"mesh axis {axis}={size} cuts nothing ({of}): {size - 1} of every {size} "
            "devices repeat what another computes",
            fix=f"{axis}=1, and the devices to an axis that cuts something",
            numbers=numbers,
        )


def _axis_path(subject: Subject, axis: str) -> str:
    """Where the size of a mesh axis is written."""
    mesh = subject.configured_mesh
    if subject.request.mesh is not None or mesh is None:
        return "mesh"
    part = "dcn" if getattr(mesh.ici, axis) == 1 else "ici"
    return f"mesh.{part}.{axis}"


def _axes_used(
    arrays: Sequence[NamedArray],
    rules: AxisRules,
    but: Collection[str] = (),
) -> set[str]:
    """The mesh axes that cut a dim of some array, dims of some names left out."""
    used: set[str] = set()
    for array in arrays:
        if array.names is None or layouts.bad_names(array.names, array.shape):
            continue
        for name, axes in zip(array.names, layouts.dim_axes(array, rules), strict=True):
            if name not in but:
                used.update(axes)
    return used
