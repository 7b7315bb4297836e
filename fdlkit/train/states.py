"""Metrics' states: computed in a step, packed into one array, merged on the host.

    packed = pack(compute_states(metrics, context))     # in the step, on the devices
    states = unpack(packed, like)                       # on the host, from here on
    total = merge_states(metrics, total, states)
    numbers = results(metrics, total)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from fdlkit.train.losses import Context
from fdlkit.train.metrics import Metric, State

# Half of the bits of an int32. A float32 holds such a half exactly; the bits of a small
# int, taken for a float32, are a number that some devices round to zero.
_HALF = 16


def compute_states(
    metrics: Mapping[str, Metric], context: Context, *, where: str = "metrics"
) -> dict[str, State]:
    """Each metric's state of a step's context, by name.

    A metric finds the states of those before it in the context, as `metrics.NAME`.

    Args:
      metrics: By name.
      context: The step's.
      where: The config path of `metrics`, for messages.
    """
    states: dict[str, State] = {}
    for name, metric in metrics.items():
        states[name] = metric(
            {**context, "metrics": states}, where=f"{where}[{name!r}]"
        )
    return states


def pack(tree: Any) -> jax.Array:
    """All arrays of a tree in one, `[n]` float32, in the order of its leaves.

    One array goes to the host in a fraction of the time of many. Integers of 32 bits
    become two floats each, so they stay exact.
    """
    parts = [_as_floats(jnp.asarray(leaf)) for leaf in jax.tree.leaves(tree)]
    return jnp.concatenate(parts) if parts else jnp.zeros(0, jnp.float32)


def unpack(packed: Any, like: Any) -> Any:
    """The tree that was packed, of NumPy arrays.

    Args:
      packed: `[n]` float32, from `pack`.
      like: A tree of the shapes and types that were packed.
    """
    flat = np.asarray(packed)
    leaves, structure = jax.tree.flatten(like)
    found, begin = [], 0
    for leaf in leaves:
        end = begin + _floats_of(leaf)
        found.append(_from_floats(flat[begin:end], leaf))
        begin = end
    return jax.tree.unflatten(structure, found)


def packed_size(like: Any) -> int:
    """The length of what `pack` makes of a tree of these shapes and types."""
    return sum(map(_floats_of, jax.tree.leaves(like)))


def merge_states(
    metrics: Mapping[str, Metric],
    states: Mapping[str, State] | None,
    more: Mapping[str, State],
) -> dict[str, State]:
    """The states of what two are of together, by name; None stands for nothing yet."""
    if states is None:
        return dict(more)
    return {
        name: metric.merge(states[name], more[name]) for name, metric in metrics.items()
    }


def results(
    metrics: Mapping[str, Metric], states: Mapping[str, State]
) -> dict[str, float]:
    """What each state comes to; a metric of several numbers gives `NAME/part`."""
    found: dict[str, float] = {}
    for name, metric in metrics.items():
        result = metric.result(states[name])
        if isinstance(result, Mapping):
            found |= {f"{name}/{part}": float(number) for part, number in result.items()}
        else:
            found[name] = float(result)
    return found


def _is_wide(dtype: Any) -> bool:
    return np.issubdtype(dtype, np.integer) and np.dtype(dtype).itemsize > 2


def _floats_of(leaf: Any) -> int:
    return math.prod(leaf.shape) * (2 if _is_wide(leaf.dtype) else 1)


def _as_floats(array: jax.Array) -> jax.Array:
    flat = array.reshape(-1)
    if not _is_wide(flat.dtype):
        return flat.astype(jnp.float32)
    high, low = flat >> _HALF, flat & ((1 << _HALF) - 1)
    return jnp.concatenate([high.astype(jnp.float32), low.astype(jnp.float32)])


def _from_floats(flat: np.ndarray, like: Any) -> np.ndarray:
    if _is_wide(like.dtype):
        high, low = flat.astype(np.int64).reshape(2, -1)
        flat = (high << _HALF) + low
    return flat.astype(like.dtype).reshape(like.shape)
