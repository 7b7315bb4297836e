"""Optimizers for parts of a model, chosen by the paths of parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import optax

from fdlkit.sharding.layout import tree_path
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
