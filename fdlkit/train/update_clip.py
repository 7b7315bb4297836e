"""Clipping what an optimizer is about to add to each tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import optax


def clip_by_layer_rms(
    threshold: float, *, stacks: Sequence[str] = ("layers",)
) -> optax.GradientTransformation:
    """Scales each tensor's update down to a root mean square of at most `threshold`.

    It is `optax.clip_by_block_rms` (Shazeer & Stern, 2018, section 6), for which the
    layers of a `Repeat` are tensors of their own, as they would be without a stack: a
    layer with a large update does not make the updates of the others small. Pax does
    the same (`clip_threshold` of its Adam, vectorised over repeated layers).

    Args:
      threshold: The largest root mean square that is let through.
      stacks: Names in parameter paths below which arrays have one layer after another
        along their first axis: the fields that hold a `Repeat`.
    """
    clip = optax.clip_by_block_rms(threshold)

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        del params

        def clipped(path: Sequence[Any], leaf: jax.Array) -> jax.Array:
            names = {jax.tree_util.keystr((key,), simple=True) for key in path}
            if names.isdisjoint(stacks):
                return clip.update(leaf, state)[0]
            return jax.vmap(lambda layer: clip.update(layer, state)[0])(leaf)

        return jax.tree_util.tree_map_with_path(clipped, updates), state

    return optax.GradientTransformation(clip.init, update)
