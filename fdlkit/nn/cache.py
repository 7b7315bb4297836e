"""Keys and values that attention keeps from token to token while text is generated.

Training knows nothing of this. Within `filling` and `extending` Flax hands every call
of `SelfAttention.gather` over to here; what is kept is the model's variable collection
`cache`, for each attention:

    key, value    [batch, length, kv_heads, head_dim], in what it computes in
    segment_ids   [batch, length] int32, where the model is given some

A slot of a row is a place in its text. What stands in slots that a row has not come to
yet is seen by nobody, so rows may be filled from texts of different lengths, padded
at their ends.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

from fdlkit.nn.attention import KV_HEADS, SelfAttention

CACHE = "cache"


class NoCacheError(Exception):
    """Why a model's keys and values cannot be kept, in half a sentence."""


@contextlib.contextmanager
def filling(length: int) -> Iterator[set[type[nn.Module]]]:
    """Within, attention works as ever, and keeps the keys and values that it sees.

    Apply the model with `mutable=["cache"]`, to texts from their first tokens.

    Args:
      length: How many tokens of a row are to be kept in all; at least `time`.

    Yields:
      The classes of the modules that were called, once the model has been applied.

    Raises:
      NoCacheError: From the call of the model, by `SelfAttention.gather`.
    """
    called: set[type[nn.Module]] = set()

    def interceptor(gather: Any, args: Any, kwargs: Any, call: Any) -> Any:
        called.add(type(call.module))
        if not is_gathering(call):
            return gather(*args, **kwargs)
        refuse_uncacheable(call.module)
        _, key, value = args
        for name, new in named_parts(key, value, **kwargs).items():
            room = [(0, 0), (0, length - new.shape[1])] + [(0, 0)] * (new.ndim - 2)
            keep(call.module, name, jnp.pad(new, room))
        return gather(*args, **kwargs)

    with nn.intercept_methods(interceptor):
        yield called


@contextlib.contextmanager
def extending(slots: jax.Array) -> Iterator[None]:
    """Within, attention also sees what was kept, and keeps what it sees now.

    Apply the model with its `cache` among the variables and `mutable=["cache"]`, to
    the tokens that come next.

    Args:
      slots: `[batch]` int32: where in its row the first of these tokens stands.
    """

    def interceptor(gather: Any, args: Any, kwargs: Any, call: Any) -> Any:
        if not is_gathering(call):
            return gather(*args, **kwargs)
        query, key, value = args
        kept = {
            name: keep(
                call.module,
                name,
                write(call.module.get_variable(CACHE, name), new, slots),
            )
            for name, new in named_parts(key, value, **kwargs).items()
        }
        length = kept["key"].shape[1]
        places = slots[:, None] + jnp.arange(query.shape[1])
        mask = jnp.arange(length) <= places[:, :, None]
        if "segment_ids" in kept:
            own = kwargs["segment_ids"]
            mask &= own[:, :, None] == kept["segment_ids"][:, None, :]
        return gather(query, kept["key"], kept["value"], mask=mask)

    with nn.intercept_methods(interceptor):
        yield


def is_gathering(call: Any) -> bool:
    """Whether a call is that of the method whose keys and values are kept."""
    return isinstance(call.module, SelfAttention) and call.method_name == "gather"


def refuse_uncacheable(module: nn.Module) -> None:
    """Refuses an attention that has no place of its own to keep anything.

    Raises:
      NoCacheError: Two layers call it, or one that is no part of the model as Flax
        sees it.
    """
    where = "/".join(module.path) or type(module).__name__
    if not module.is_mutable_collection(CACHE):
        raise NoCacheError(f"layers share {where}, each with keys of its own")
    if module.has_variable(CACHE, "key"):
        raise NoCacheError(f"{where} is called twice for a token")


def named_parts(
    key: jax.Array, value: jax.Array, *, segment_ids: jax.Array | None = None
) -> dict[str, jax.Array]:
    """What is kept of some tokens, each `[batch, time, …]`, by name."""
    parts = {"key": key, "value": value}
    if segment_ids is not None:
        parts["segment_ids"] = segment_ids
    return parts


def keep(module: nn.Module, name: str, whole: jax.Array) -> jax.Array:
    """Makes an array a part of a module's cache, laid out as in training."""
    whole = nn.with_logical_constraint(whole, KV_HEADS[: whole.ndim])
    module.put_variable(CACHE, name, whole)
    return whole


def write(old: jax.Array, new: jax.Array, slots: jax.Array) -> jax.Array:
    """Returns `old` with `new` in each row from its slot on.

    Args:
      old: `[batch, length, …]`.
      new: `[batch, time, …]`.
      slots: `[batch]` int32; `slots + time` is at most `length`.
    """
    update = jax.vmap(
        lambda row, part, slot: jax.lax.dynamic_update_slice_in_dim(row, part, slot, 0)
    )
    return update(old, new.astype(old.dtype), slots)
