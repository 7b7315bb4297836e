"""What the mesh and the logical axis rules around us say about an axis.

`flax.linen.with_logical_constraint` reads the same two: the mesh of `jax.set_mesh`
or `jax.sharding.use_abstract_mesh`, and the rules of `nn.logical_axis_rules`.
"""

from __future__ import annotations

import flax.linen as nn
import jax

from fdlkit.sharding.layout import split_of


def splits(axis: str) -> bool:
    """Whether a logical axis is divided among two or more devices here and now.

    False outside any mesh, without rules, and where no rule names the axis.
    """
    spec = nn.logical_to_mesh_axes((axis,))
    mesh = jax.sharding.get_abstract_mesh()
    return not mesh.empty and spec is not None and split_of(spec[0], mesh) > 1
