"""Parameters that are not trained: no gradient, no state, no change."""

from __future__ import annotations

from typing import Any

import flax.struct
import jax
import jax.numpy as jnp
import optax

from fdlkit.sharding.layout import tree_path


@flax.struct.dataclass
class Frozen:
    """The state of `frozen`: no array, but the paths of what it holds.

    Attributes:
      paths: The parameters that it was made for.
    """

    paths: tuple[str, ...] = flax.struct.field(pytree_node=False)


def frozen() -> optax.GradientTransformation:
    """An optimizer that leaves its parameters alone.

    Unlike `optax.set_to_zero` it says so to the training step: of parameters that it
    is for no gradient is computed (it is zero to all else, as to clipping by the norm
    of all gradients), and they stay what they were to the bit, whatever another part
    of the optimizer adds to them.
    """

    def init(params: Any) -> Frozen:
        leaves = jax.tree_util.tree_leaves_with_path(params)
        return Frozen(paths=tuple(tree_path(path) for path, _ in leaves))

    def update(updates: Any, state: Frozen, params: Any = None) -> tuple[Any, Frozen]:
        del params
        return jax.tree.map(jnp.zeros_like, updates), state

    return optax.GradientTransformation(init, update)


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
