"""What the mesh and the logical axis rules around us say about an axis.

`flax.linen.with_logical_constraint` reads the same two: the mesh of `jax.set_mesh`
or `jax.sharding.use_abstract_mesh`, and the rules of `nn.logical_axis_rules`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import flax.linen as nn
import jax
from jax.sharding import PartitionSpec

from fdlkit.sharding.layout import split_of


def splits(axis: str) -> bool:
    """Whether a logical axis is divided among two or more devices here and now.

    False outside any mesh, without rules, and where no rule names the axis.
    """
    spec = nn.logical_to_mesh_axes((axis,))
    mesh = jax.sharding.get_abstract_mesh()
    return not mesh.empty and spec is not None and split_of(spec[0], mesh) > 1


def splitting(axis: str) -> tuple[str, ...] | None:
    """The mesh axes that divide a logical axis here and now; None: it is whole."""
    spec = nn.logical_to_mesh_axes((axis,))
    if spec is None or not splits(axis):
        return None
    names = (spec[0],) if isinstance(spec[0], str) else spec[0]
    mesh = jax.sharding.get_abstract_mesh()
    return tuple(name for name in names if mesh.shape[name] > 1)


def number_of_parts(axis: str) -> int:
    """Among how many devices a logical axis is divided here and now; 1: it is whole."""
    mesh = jax.sharding.get_abstract_mesh()
    return math.prod(mesh.shape[name] for name in splitting(axis) or ())


def constrain_dims(x: jax.Array, axes: Mapping[int, str]) -> jax.Array:
    """The array with some dims divided as their logical axes are, the others as it is.

    Args:
      x: The array.
      axes: Logical axes by dim.
    """
    cut = {dim: splitting(axis) for dim, axis in axes.items()}
    if not any(cut.values()):
        return x
    free = PartitionSpec.UNCONSTRAINED
    spec = PartitionSpec(*(cut.get(dim, free) for dim in range(x.ndim)))
    return jax.lax.with_sharding_constraint(x, spec)
