"""What is wrong with a mesh: sizes, devices, slices; no device is asked."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping

from fdlkit.sharding.mesh import MESH_AXES, Mesh

# Suggestions are among numbers of slices that somebody may have.
_MAX_SLICES = 4_096

Sizes = Mapping[str, int]


@dataclasses.dataclass(frozen=True)
class MeshFault:
    """One thing that is wrong with the sizes of a mesh.

    Attributes:
      kind: `size`: no size; `several`: more than one -1; `product`: it does not fit
        the devices; `slices`: it does not fit the slices.
      part: `ici` or `dcn`.
      axis: The axis that it is about; None: all of them.
      text: What is wrong, with the numbers.
      nearest: Sizes that would work, as a person writes them, the nearest first.
      idle: Devices that would do nothing; negative: that are missing.
    """

    kind: str
    part: str
    axis: str | None
    text: str
    nearest: tuple[str, ...] = ()
    idle: int = 0


def mesh_faults(
    mesh: Mesh, *, devices: int | None, slices: int | None = None
) -> Iterator[MeshFault]:
    """Everything that is wrong with a mesh on so many devices.

    Args:
      mesh: The mesh as configured.
      devices: How many there are; None: as many as it asks for.
      slices: How many slices they form; None: as many as it asks for.
    """
    ici = dict(zip(MESH_AXES, mesh.ici.sizes(), strict=True))
    dcn = dict(zip(MESH_AXES, mesh.dcn.sizes(), strict=True))
    wrong = [*_bad_sizes("ici", ici), *_bad_sizes("dcn", dcn)]
    yield from wrong
    if wrong:
        return
    asked = math.prod(n for n in dcn.values() if n > 0)
    if slices is None:
        slices = asked
    elif fault := _misfit("dcn", dcn, slices, "slices"):
        yield dataclasses.replace(fault, kind="slices")
        return
    if devices is None:
        return
    if devices % slices:
        yield MeshFault(
            "slices",
            "dcn",
            None,
            f"mesh.dcn ({written(dcn)}) asks for {slices} slices, and {devices} "
            f"devices do not form {slices} equal ones",
            nearest=tuple(
                f"{n} slices"
                for n in range(min(slices - 1, _MAX_SLICES), 0, -1)
                if devices % n == 0
            )[:2],
        )
        return
    if fault := _misfit("ici", ici, devices // slices, "devices"):
        yield fault


def _bad_sizes(part: str, sizes: Sizes) -> Iterator[MeshFault]:
    for axis, size in sizes.items():
        if type(size) is not int or (size < 1 and size != -1):
            yield MeshFault(
                "size",
                part,
                axis,
                f"mesh.{part}.{axis}={size!r} is not a size",
                nearest=("1", "-1 for the rest"),
            )
    free = [axis for axis, size in sizes.items() if size == -1]
    if len(free) > 1:
        yield MeshFault(
            "several",
            part,
            free[1],
            f"mesh.{part}: {' and '.join(free)} are each -1, and one axis alone can "
            "take the rest",
            nearest=tuple(f"{axis}=1" for axis in free[1:]),
        )


def _misfit(part: str, sizes: Sizes, total: int, unit: str) -> MeshFault | None:
    fixed = math.prod(n for n in sizes.values() if n != -1)
    free = [axis for axis, n in sizes.items() if n == -1]
    if total % fixed == 0 and (free or fixed == total):
        return None
    where = f"mesh.{part} ({written(sizes)})"
    if fixed > total:
        text = f"{where} needs {fixed} {unit}, and there are {total}"
        idle = total - fixed
    else:
        idle = total % fixed if free else total - fixed
        text = f"{where} uses {total - idle} of {total} {unit}: {idle} would be idle"
    return MeshFault(
        "product", part, None, text, nearest=tuple(fitting(sizes, total)), idle=idle
    )


def fitting(sizes: Sizes, total: int, n: int = 3) -> list[str]:
    """Sizes that multiply to `total`, with one axis changed where that is enough.

    Each is written as `--mesh` takes it: `data=2,tensor=4`.
    """
    fixed = math.prod(size for size in sizes.values() if size != -1)
    found: dict[str, float] = {}
    for axis, size in sizes.items():
        rest = fixed // (size if size > 0 else 1)
        if total % rest == 0:
            changed = {**sizes, axis: total // rest}
            if -1 in changed.values():
                continue
            distance = abs(math.log(total // rest / max(size, 1)))
            # An axis of size 1 is seldom what the others' change should go to.
            found[_as_flag(changed)] = distance + (axis != "data" and size == 1)
    if not found:
        found[f"{MESH_AXES[0]}={total}"] = 0.0
    return sorted(found, key=lambda text: found[text])[:n]


def _as_flag(sizes: Sizes) -> str:
    """The axes that are not 1, as `--mesh` takes them: `data=2,tensor=4`."""
    return ",".join(f"{a}={n}" for a, n in sizes.items() if n != 1) or "data=1"


def written(sizes: Sizes) -> str:
    """The axes that are not 1: `data=2, tensor=4`."""
    return ", ".join(f"{a}={n}" for a, n in sizes.items() if n != 1) or "every axis 1"
