"""The device mesh: its named axes, inside a slice and across slices."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.experimental import mesh_utils
from jax.sharding import AbstractMesh, AxisType

from fdlkit.errors import UserError

MESH_AXES = ("data", "fsdp", "tensor", "context", "stage")


@dataclasses.dataclass(frozen=True, kw_only=True)
class MeshAxes:
    """Sizes of the mesh axes over one kind of network; -1 once: the rest.

    Attributes:
      data: Replicas: the batch is split, parameters are copied.
      fsdp: The batch is split, and parameters are split over their `embed` dim.
      tensor: Heads, MLP width and vocabulary are split.
      context: The time dim of activations is split.
      stage: Stages of a pipeline.
    """

    data: int = 1
    fsdp: int = 1
    tensor: int = 1
    context: int = 1
    stage: int = 1

    def sizes(self) -> tuple[int, ...]:
        """The sizes in the order of `MESH_AXES`, -1 still in place."""
        return (self.data, self.fsdp, self.tensor, self.context, self.stage)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Mesh:
    """The mesh of a run: fast links inside a slice, slow ones across slices.

    An axis has the size `ici * dcn`. On CPU and GPU a process stands for a slice
    when any `dcn` size is not 1. A mesh always has all of `MESH_AXES`.

    Attributes:
      ici: Sizes inside a slice (inter-chip interconnect).
      dcn: Sizes across slices (data-center network).
    """

    ici: MeshAxes = MeshAxes(data=-1)
    dcn: MeshAxes = MeshAxes()

    def shape(self, num_devices: int, num_slices: int = 1) -> dict[str, int]:
        """The size of every mesh axis on this many devices.

        Raises:
          UserError: The sizes do not multiply to the devices.
        """
        ici, dcn = self._resolve(num_devices, num_slices)
        return {a: i * d for a, i, d in zip(MESH_AXES, ici, dcn, strict=True)}

    def parts(
        self, num_devices: int, num_slices: int = 1
    ) -> tuple[dict[str, int], dict[str, int]]:
        """The size of every mesh axis inside a slice, and across slices.

        Raises:
          UserError: The sizes do not multiply to the devices.
        """
        ici, dcn = self._resolve(num_devices, num_slices)
        return (
            dict(zip(MESH_AXES, ici, strict=True)),
            dict(zip(MESH_AXES, dcn, strict=True)),
        )

    def abstract(
        self, num_devices: int | None = None, num_slices: int | None = None
    ) -> AbstractMesh:
        """The mesh without its devices, for tracing.

        Args:
          num_devices: On how many; None: on as few as the sizes allow.
          num_slices: On how many slices; None: likewise.

        Raises:
          UserError: The sizes do not multiply to the devices, or an axis has none.
        """
        if num_slices is None:
            num_slices = _fixed(self.dcn)
        if num_devices is None:
            num_devices = _fixed(self.ici) * num_slices
        shape = self.shape(num_devices, num_slices)
        sizes = tuple(shape[axis] for axis in MESH_AXES)
        return AbstractMesh(sizes, MESH_AXES, axis_types=(AxisType.Auto,) * len(sizes))

    def make(self, devices: Sequence[Any] | None = None) -> jax.sharding.Mesh:
        """A `jax.sharding.Mesh` of `devices` (all there are, unless given).

        Raises:
          UserError: The sizes do not multiply to the devices.
        """
        devices = jax.devices() if devices is None else list(devices)
        hybrid = any(size != 1 for size in self.dcn.sizes())
        slices = {_slice_of(d) for d in devices}
        ici, dcn = self._resolve(len(devices), len(slices) if hybrid else 1)
        if hybrid:
            array = mesh_utils.create_hybrid_device_mesh(
                ici,
                dcn,
                devices=devices,
                process_is_granule=not _has_slices(devices[0]),
            )
        elif len(devices) == 1:
            array = np.asarray(devices).reshape(ici)
        else:
            array = mesh_utils.create_device_mesh(
                ici, devices=devices, allow_split_physical_axes=True
            )
        # Stated, because `jax.make_mesh` has come to default to Explicit.
        auto = (AxisType.Auto,) * len(MESH_AXES)
        return jax.sharding.Mesh(array, MESH_AXES, axis_types=auto)

    def _resolve(
        self, num_devices: int, num_slices: int
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        if num_devices % num_slices:
            raise UserError(
                f"{num_devices} devices do not form {num_slices} equal slices"
            )
        dcn = _fill("mesh.dcn", self.dcn.sizes(), num_slices, "slices")
        ici = _fill("mesh.ici", self.ici.sizes(), num_devices // num_slices, "devices")
        return ici, dcn


def without_devices(mesh: jax.sharding.Mesh | AbstractMesh) -> AbstractMesh:
    """The same axes on no devices, and on none of any kind.

    JAX tells apart two abstract meshes that differ in the kind of device alone.
    """
    names = tuple(mesh.axis_names)
    sizes = tuple(mesh.shape[name] for name in names)
    return AbstractMesh(sizes, names, axis_types=mesh.axis_types)


def _fixed(axes: MeshAxes) -> int:
    return math.prod(size for size in axes.sizes() if size > 0)


def _slice_of(device: Any) -> int:
    return device.slice_index if _has_slices(device) else device.process_index


def _has_slices(device: Any) -> bool:
    # Other devices have the attribute too, and each says that it is in slice 0.
    return device.platform == "tpu" and hasattr(device, "slice_index")


def _fill(where: str, sizes: tuple[int, ...], total: int, unit: str) -> tuple[int, ...]:
    """`sizes` with its one -1 replaced so that they multiply to `total`."""
    named = dict(zip(MESH_AXES, sizes, strict=True))
    text = ", ".join(f"{a}={n}" for a, n in named.items() if n != 1) or "all 1"
    wrong = [a for a, n in named.items() if n < 1 and n != -1]
    if wrong:
        raise UserError(
            f"{where}.{wrong[0]}={named[wrong[0]]} is not a size",
            "a mesh axis has a size of at least 1, or -1 for the rest",
        )
    free = [a for a, n in named.items() if n == -1]
    if len(free) > 1:
        raise UserError(
            f"{where}: {' and '.join(free)} are both -1; one axis takes the rest"
        )
    fixed = math.prod(n for n in sizes if n != -1)
    if free and total % fixed == 0:
        return tuple(total // fixed if n == -1 else n for n in sizes)
    if not free and fixed == total:
        return sizes
    product = f"{fixed} does not divide" if free else f"{fixed} is not"
    raise UserError(
        f"{where} ({text}) does not fit: {product} the {total} {unit} there are",
        f"sizes that work: any that multiply to {total}; -1 on one axis is the rest",
    )
