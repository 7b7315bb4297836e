"""Parameters that are not trained: no gradient, no state, no change."""

from __future__ import annotations

from typing import Any

import flax.struct
import jax
import optax

from fdlkit.sharding.layout import tree_path


@flax.struct.dataclass
class Frozen:
    """The state of the optimizer `frozen`: no array, but the paths of what it holds.

    Attributes:
      paths: The parameters that it was made for.
    """

    paths: tuple[str, ...] = flax.struct.field(pytree_node=False)


def frozen_paths(opt_state: Any) -> frozenset[str]:
    """The parameters that an optimizer's state says are `frozen`.

    Args:
      opt_state: An optimizer's state, abstract or not, however it is nested.
    """
    parts = jax.tree.leaves(opt_state, is_leaf=lambda part: isinstance(part, Frozen))
    return frozenset(
        path for part in parts if isinstance(part, Frozen) for path in part.paths
    )


def held(params: Any, opt_state: Any) -> Any:
    """The parameters; to who differentiates, those that are frozen are constants."""
    paths = frozen_paths(opt_state)
    if not paths:
        return params
    return jax.tree_util.tree_map_with_path(
        lambda path, p: jax.lax.stop_gradient(p) if tree_path(path) in paths else p,
        params,
    )


def moved(params: Any, updates: Any, opt_state: Any) -> Any:
    """`optax.apply_updates`, but for what is frozen: that stays."""
    after = optax.apply_updates(params, updates)
    paths = frozen_paths(opt_state)
    if not paths:
        return after
    return jax.tree_util.tree_map_with_path(
        lambda path, old, new: old if tree_path(path) in paths else new, params, after
    )
