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

# What a policy keeps of the tensors that the layers give a name to, for policies that
# go by names; those of Pax, under its names.
KEPT_NAMES: dict[str, tuple[str, ...]] = {
    "save_nothing": (),
    "save_context_and_out_proj": ("context", "out_proj"),
    "save_dot_except_logits_ffn1": (
        *("query_proj", "key_proj", "value_proj"),
        *("context", "out_proj", "ffn2"),
    ),
}


def remat_policy(name: str) -> Callable[..., bool] | None:
    """Returns the policy of a name, None for `"none"`: keep all, compute nothing twice.

    Names are those of `jax.checkpoint_policies` that take no arguments, `"full"`:
    keep nothing but each layer's input, and those of `KEPT_NAMES`. The layers name
    `query_proj`, `key_proj`, `value_proj`, `context` (what attention gathers),
    `out_proj`, and an MLP's `ffn1` (up and gate) and `ffn2` (down).

    Raises:
      ValueError: There is no policy of this name.
    """
    if name == "none":
        return None
    if name in KEPT_NAMES:
        return jax.checkpoint_policies.save_only_these_names(*KEPT_NAMES[name])
    if name not in POLICIES:
        known = [*POLICIES, *KEPT_NAMES]
        meant = suggest.hint(str(name), ["none", *known])
        raise ValueError(
            f"remat={name!r} is not one of none, {', '.join(known)}"
            + (f"; {meant}" if meant else "")
        )
    return POLICIES[name]
