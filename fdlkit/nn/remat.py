"""What is kept for the backward pass and what is computed again."""

from __future__ import annotations

from collections.abc import Callable

import jax

from fdlkit import suggest

POLICIES: dict[str, Callable[..., bool]] = {
    "full": jax.checkpoint_policies.nothing_saveable,
    "nothing_saveable": jax.checkpoint_policies.nothing_saveable,
    "everything_saveable": jax.checkpoint_policies.everything_saveable,
    "dots_saveable": jax.checkpoint_policies.dots_saveable,
    "checkpoint_dots": jax.checkpoint_policies.checkpoint_dots,
    "dots_with_no_batch_dims_saveable": (
        jax.checkpoint_policies.dots_with_no_batch_dims_saveable
    ),
    "checkpoint_dots_with_no_batch_dims": (
        jax.checkpoint_policies.checkpoint_dots_with_no_batch_dims
    ),
}


def remat_policy(name: str) -> Callable[..., bool] | None:
    """Returns the policy of a name, None for `"none"`: keep all, compute nothing twice.

    Names are those of `jax.checkpoint_policies` that take no arguments, and `"full"`:
    keep nothing but each layer's input.

    Raises:
      ValueError: There is no policy of this name.
    """
    if name == "none":
        return None
    if name not in POLICIES:
        meant = suggest.hint(str(name), ["none", *POLICIES])
        raise ValueError(
            f"remat={name!r} is not one of none, {', '.join(POLICIES)}"
            + (f"; {meant}" if meant else "")
        )
    return POLICIES[name]
