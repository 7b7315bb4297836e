"""Optimizers for parts of a model, chosen by the paths of parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import optax

from fdlkit.sharding.layout import tree_path
from fdlkit.train.frozen import Frozen
from fdlkit.train.patterns import assigned


def by_path(
    groups: Mapping[str, optax.GradientTransformation],
) -> optax.GradientTransformationExtraArgs:
    """An optimizer for each group of parameters; `optax.partition` with patterns.

    ```
    by_path({
        "embed/**": frozen(),
        "**/bias": optax.adam(3e-4),
        "**": optax.adamw(3e-4, weight_decay=0.1),
    })
    ```

    A parameter is of the narrowest pattern that matches its path (as `params.txt` of
    `fdlkit golden` lists it, without `params/`); the order of the groups does not
    count. Of two patterns neither of which is within the other, both may match no
    parameter of one model. What looks at all gradients, such as clipping by their
    norm, stands before it in a chain: `optax.chain(optax.clip_by_global_norm(1.0),
    by_path(…))`.

    Args:
      groups: Optimizers by pattern, see `fdlkit.train.patterns.matches`.

    Raises:
      PatternError: When the state is made, which a check does on no device: a pattern
        that matches nothing, a parameter without a pattern; see `assigned`.
    """
    patterns = tuple(groups)

    def labels(params: Any) -> Any:
        leaves, tree = jax.tree_util.tree_flatten_with_path(params)
        paths = [tree_path(path) for path, _ in leaves]
        found = assigned(patterns, paths)
        return jax.tree.unflatten(tree, [found[path] for path in paths])

    return optax.partition(dict(groups), labels)


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
