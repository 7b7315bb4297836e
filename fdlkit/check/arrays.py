"""What the axes level says of arrays: parameters, activations, constraints."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from fdlkit.check import batches, layouts, module_paths
from fdlkit.check.layouts import (
    BadNames,
    Dropped,
    Indivisible,
    NamedArray,
    UnknownName,
)
from fdlkit.graph import paths
from fdlkit.graph.paths import Path
from fdlkit.sharding.layout import AxisRules
from fdlkit.sharding.mesh import MESH_AXES

if TYPE_CHECKING:
    from fdlkit.check.findings import Finding
    from fdlkit.check.subject import Subject

# Flax drops later rules for a mesh axis that the batch has, and that is the idea of
# fully sharded data parallelism: the dim is whole where it is computed with.
_GIVES_WAY_TO = "batch"


@dataclasses.dataclass
class _Causes:
    """Faults by what causes them, each with the arrays that have it."""

    uneven: dict[tuple[Path, int, int], list[tuple[NamedArray, Indivisible]]]
    unknown: dict[str, list[tuple[NamedArray, UnknownName]]]
    dropped: dict[tuple[str, str, tuple[str, ...]], list[tuple[NamedArray, Dropped]]]


def find(
    subject: Subject,
    parameters: Sequence[NamedArray],
    activations: Sequence[NamedArray],
    rules: AxisRules,
    mesh: layouts.MeshShape,
) -> Iterator[Finding]:
    """What is wrong with arrays; what has one cause in several is told once."""
    causes = _Causes({}, {}, {})
    for array in parameters:
        for fault in layouts.faults(array, rules, mesh):
            if isinstance(fault, BadNames):
                yield bad_names(subject, array, fault.text)
            else:
                _sort(subject, causes, array, fault)
    of_parameters = copy.deepcopy(causes)
    for array in activations:
        for fault in layouts.faults(array, rules, mesh):
            is_batchs = isinstance(fault, Indivisible) and fault.name == "batch"
            gives_way = isinstance(fault, Dropped) and fault.taken_by == _GIVES_WAY_TO
            # Told by the batch itself; and meant.
            if not (is_batchs or gives_way or isinstance(fault, BadNames)):
                _sort(subject, causes, array, fault)
    for key, uneven in causes.uneven.items():
        own = of_parameters.uneven.get(key)
        yield _indivisible(
            subject, key[0], own or uneven, mesh, are_parameters=own is not None
        )
    for name, unknown in causes.unknown.items():
        code = "AX007" if name in of_parameters.unknown else "AX008"
        yield _unknown(subject, code, unknown)
    for cause, dropped in causes.dropped.items():
        yield _dropped(subject, of_parameters.dropped.get(cause, dropped), mesh)


def _sort(
    subject: Subject,
    causes: _Causes,
    array: NamedArray,
    fault: Indivisible | UnknownName | Dropped,
) -> None:
    """Puts a fault beside others of the same cause; of a path the first one alone."""
    if isinstance(fault, Indivisible):
        place = _argument(subject, array, fault)
        key = (place, fault.size, fault.parts)
        _add(causes.uneven.setdefault(key, []), array, fault)
    elif isinstance(fault, UnknownName):
        _add(causes.unknown.setdefault(fault.name, []), array, fault)
    else:
        cause = (fault.name, fault.taken_by, fault.axes)
        _add(causes.dropped.setdefault(cause, []), array, fault)


def _add(same: list[tuple[NamedArray, Any]], array: NamedArray, fault: Any) -> None:
    if array.path not in [other.path for other, _ in same]:
        same.append((array, fault))


def _argument(subject: Subject, array: NamedArray, fault: Indivisible) -> Path:
    """The argument to change, or the node that makes the array."""
    place = module_paths.argument_of_size(
        subject, array.module, name=fault.name, size=fault.size
    )
    if place is None and fault.name == "time":
        place = batches.time_of(subject, fault.size)
    return place or module_paths.place_of(subject, array.module)


def _dropped(
    subject: Subject,
    found: Sequence[tuple[NamedArray, Dropped]],
    mesh: layouts.MeshShape,
) -> Finding:
    array, fault = found[0]
    return subject.finding(
        "AX010",
        module_paths.place_of(subject, array.module),
        "\n".join(
            [
                f"{array.path} {list(array.shape)}: its {fault.name} is not cut over "
                f"{' and '.join(fault.axes)}, which its {fault.taken_by} has already",
                *_others(found),
            ]
        ),
        fix=f"give {fault.name} or {fault.taken_by} another mesh axis in rules, or "
        f"say ({fault.name!r}, None)",
        subject=array.path,
        numbers={axis: mesh[axis] for axis in fault.axes},
    )


def _others(found: Sequence[tuple[NamedArray, Any]]) -> list[str]:
    """The arrays that have the fault of the first one too."""
    return [f"so is {array.path} {list(array.shape)}" for array, _ in found[1:]]


def bad_names(subject: Subject, array: NamedArray, text: str) -> Finding:
    """Logical names that do not fit the array; the text says why."""
    return subject.finding(
        "AX009",
        module_paths.place_of(subject, array.module),
        f"{array.path}: {text}",
        fix="give each dim one logical name, or None",
        subject=array.path,
        numbers={"names": len(array.names or ()), "dims": len(array.shape)},
    )


def _unknown(
    subject: Subject, code: str, found: Sequence[tuple[NamedArray, UnknownName]]
) -> Finding:
    assert subject.trainer is not None
    array, fault = found[0]
    _, rules = layouts.rule_faults(subject.trainer.rules, MESH_AXES)
    known = sorted({logical for logical, _ in rules})
    return subject.finding(
        code,
        "rules",
        "\n".join(
            [
                f"{array.path} {list(array.shape)}: no rule for its logical axis "
                f"{fault.name!r}",
                *_others(found),
            ]
        ),
        fix=f"use one of these names; or add ({fault.name!r}, None) to rules to keep "
        "the dim whole",
        subject=array.path,
        meant=fault.meant,
        nearest=tuple(known),
    )


def _indivisible(
    subject: Subject,
    place: Path,
    found: Sequence[tuple[NamedArray, Indivisible]],
    mesh: layouts.MeshShape,
    *,
    are_parameters: bool,
) -> Finding:
    """One size that does not come out even, in one array or in several."""
    array, fault = found[0]
    name = fault.name or f"dim {fault.dim}"
    cut = " * ".join(f"{axis}={mesh[axis]}" for axis in fault.axes if mesh[axis] > 1)
    waste = f"{100 * fault.waste:+.0f} % of {name}"
    what, price = array.path, f"padding it to {fault.padded} would cost {waste}"
    if not are_parameters:
        what = f"an activation of {array.path}"
        price = f"XLA pads it to {fault.padded}, {waste}, without a word"
    others = [
        f"so is {other.path} {list(other.shape)} ({its.name or f'dim {its.dim}'})"
        for other, its in found[1:]
    ]
    is_argument = place != module_paths.place_of(subject, array.module)
    argument = paths.format(place) if is_argument else name
    return subject.finding(
        "AX003" if are_parameters else "AX004",
        place,
        "\n".join(
            [
                f"{what} {list(array.shape)}: its {name} {fault.size} is not a "
                f"multiple of {fault.parts} (mesh {cut}); {price}",
                *others,
            ]
        ),
        fix=f"{argument}={' or '.join(map(str, fault.sizes))}, or a mesh that cuts "
        f"{name} in {' or '.join(map(str, fault.cuts))}",
        subject=array.path,
        numbers={
            "size": fault.size,
            "parts": fault.parts,
            "padded": fault.padded,
            "waste_percent": round(100 * fault.waste, 1),
        },
        nearest=fault.sizes,
    )


def uneven_constraints(
    subject: Subject,
    raw: Sequence[tuple[tuple[int, ...], tuple[tuple[str, ...], ...]]],
    named: Sequence[NamedArray],
    rules: AxisRules,
    mesh: layouts.MeshShape,
) -> Iterator[Finding]:
    """Constraints by mesh axes (`jax.lax.with_sharding_constraint`) that are uneven.

    Those by logical names are in the program too, and told by their names; so are those
    inside a pipeline, where each has one more dim in front, for the stages.
    """
    told = {
        (array.shape, layouts.dim_axes(array, rules))
        for array in named
        if not layouts.bad_names(array.names or (), array.shape)
    }
    for shape, cut in raw:
        padded = (*cut, *[()] * (len(shape) - len(cut)))
        if (shape, padded) in told or (shape[1:], padded[1:]) in told:
            continue
        for dim, (size, axes) in enumerate(zip(shape, padded, strict=True)):
            parts = layouts.parts_of(axes, mesh)
            if size % parts:
                array = NamedArray("the model", shape, None, ())
                fault = Indivisible(dim, None, size, parts, axes)
                yield _indivisible(
                    subject,
                    module_paths.MODEL,
                    [(array, fault)],
                    mesh,
                    are_parameters=False,
                )
