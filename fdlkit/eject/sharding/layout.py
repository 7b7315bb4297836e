"""From logical axis names to where an array lives."""

from __future__ import annotations

from typing import Any

import flax.linen as nn
import jax
from jax.sharding import PartitionSpec

from fdlkit.sharding.layout import AxisRules, mesh_spec


def spec_tree(variables: Any, rules: AxisRules) -> Any:
    """Mesh axes of every array: a tree of `PartitionSpec` like unboxed `variables`.

    Arrays without logical axis names are copied to every device.
    """
    return jax.tree.map(
        lambda leaf: (
            mesh_spec(leaf.names, rules)
            if isinstance(leaf, nn.Partitioned)
            else PartitionSpec()
        ),
        variables,
        is_leaf=lambda leaf: isinstance(leaf, nn.Partitioned),
    )
