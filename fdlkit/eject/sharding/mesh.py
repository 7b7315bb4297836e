"""The device mesh and its named axes."""

from __future__ import annotations

import dataclasses
import math

import jax
from jax.experimental import mesh_utils

from fdlkit.errors import UserError
from fdlkit.sharding.mesh import MESH_AXES, MeshAxes


@dataclasses.dataclass(frozen=True, kw_only=True)
class Mesh:
    """The mesh of a run; it always has all of `MESH_AXES`.

    Attributes:
      ici: The size of each axis; -1 once: the rest.
    """

    ici: MeshAxes = MeshAxes(data=-1)

    def make(self) -> jax.sharding.Mesh:
        """A `jax.sharding.Mesh` of all devices."""
        devices = jax.devices()
        fixed = math.prod(n for n in self.ici.sizes() if n != -1)
        rest = len(devices) // fixed
        shape = tuple(rest if n == -1 else n for n in self.ici.sizes())
        if math.prod(shape) != len(devices):
            raise UserError(f"{self.ici} does not fit the {len(devices)} devices")
        array = mesh_utils.create_device_mesh(
            shape, devices=devices, allow_split_physical_axes=True
        )
        # Stated, because `jax.make_mesh` has come to default to Explicit.
        auto = (jax.sharding.AxisType.Auto,) * len(MESH_AXES)
        return jax.sharding.Mesh(array, MESH_AXES, axis_types=auto)
