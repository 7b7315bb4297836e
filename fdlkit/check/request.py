"""What a check is to take for given besides the config, and reading it from text."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from fdlkit import suggest
from fdlkit.check.topology import Topology
from fdlkit.errors import UserError

# The house's names; `fdlkit.sharding.mesh` says what they mean. That the two agree is
# a test: reading them from there would load JAX to refuse a misspelt flag.
MESH_AXES = ("data", "fsdp", "tensor", "context", "stage")
DCN = "dcn."  # what the name of an axis begins with, of its size across slices


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request:
    """What to take for given.

    Attributes:
      mesh: Sizes of mesh axes, in place of the experiment's own mesh; axes that are
        not named have size 1, and -1 stands for the rest. `data` is inside a slice,
        `dcn.data` across slices.
      devices: How many devices there will be; None: those of the topology, else as
        few as the mesh allows.
      topology: The machine that there will be; None: any.
      compile: Whether the step is compiled for the topology, where that is possible.
      restore: A folder of checkpoints that the run is to go on from.
      workdir: The folder of the run, if it is known.
      environment: The variables that the run would see; None: those of this process.

    Raises:
      UserError: An axis is unknown or has no size.
    """

    mesh: Mapping[str, int] | None = None
    devices: int | None = None
    topology: Topology | None = None
    compile: bool = False
    restore: str | None = None
    workdir: str | None = None
    environment: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        for axis, size in (self.mesh or {}).items():
            known = (*MESH_AXES, *(f"{DCN}{name}" for name in MESH_AXES))
            if axis not in known:
                hint = suggest.hint(axis, known)
                raise UserError(
                    f"a mesh has no axis {axis!r}",
                    *([f"  {hint}"] if hint else []),
                    f"  axes: {', '.join(MESH_AXES)}; across slices {DCN}data, …",
                )
            if size < 1 and size != -1:
                raise UserError(
                    f"mesh axis {axis}={size} is not a size",
                    "  a mesh axis has a size of at least 1, or -1 for the rest",
                )
        if self.devices is not None and self.devices < 1:
            raise UserError(f"{self.devices} devices: there must be one at least")
        if self.devices is None and self.topology is not None:
            object.__setattr__(self, "devices", self.topology.devices)

    @property
    def slices(self) -> int | None:
        """How many slices there will be; None: as many as the mesh asks for."""
        named = self.topology is not None and self.topology.is_named
        return self.topology.slices if self.topology is not None and named else None

    def mesh_axes(self, part: str) -> dict[str, int]:
        """The sizes of `mesh` inside a slice (`ici`) or across slices (`dcn`)."""
        of_dcn = {
            axis.removeprefix(DCN): size
            for axis, size in (self.mesh or {}).items()
            if axis.startswith(DCN)
        }
        if part == "dcn":
            return of_dcn
        return {a: n for a, n in (self.mesh or {}).items() if not a.startswith(DCN)}


def parse_mesh(text: str) -> dict[str, int]:
    """Sizes of mesh axes from `data=64,fsdp=16,tensor=4,dcn.data=2`.

    Raises:
      UserError: It is not of that form, or names an axis twice.
    """
    sizes: dict[str, int] = {}
    for part in text.split(","):
        axis, equals, size = (piece.strip() for piece in part.partition("="))
        try:
            number = int(size)
        except ValueError:
            number = 0
        if not equals or not number:
            raise UserError(
                f"{part.strip()!r} is not AXIS=SIZE",
                "  write it like data=64,fsdp=16,dcn.data=2; -1 is the rest",
            )
        if axis in sizes:
            raise UserError(f"{axis} is given twice")
        sizes[axis] = number
    return sizes
