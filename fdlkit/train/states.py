"""Metrics' states: computed in a step, packed into one array, merged on the host.

packed = pack_states(compute_states(metrics, context))  # in the step, on the devices
total = merge_states(metrics, total, packed.unpack())  # on the host, from here on
numbers = results(metrics, total)
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
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


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Packed:
    """All arrays of a tree in one: it goes to the host in a fraction of the time.

    Attributes:
      values: `[n]` float32: the leaves one after another. Integers of 32 bits are two
        floats each, so they stay exact.
      structure: The tree's.
      leaves: The shape and type of each leaf, and whether it has two floats for each
        of its integers.
    """

    values: Any
    structure: Any = dataclasses.field(metadata={"static": True})
    leaves: tuple[tuple[tuple[int, ...], str, bool], ...] = dataclasses.field(
        metadata={"static": True}
    )

    def unpack(self) -> Any:
        """The tree, of NumPy arrays; waits for the devices."""
        flat = np.asarray(self.values)
        found, begin = [], 0
        for shape, dtype, is_wide in self.leaves:
            end = begin + math.prod(shape) * (2 if is_wide else 1)
            leaf = flat[begin:end]
            if is_wide:
                high, low = leaf.astype(np.int64).reshape(2, -1)
                leaf = ((high << _HALF) + low).astype(dtype)
            elif dtype != "float32":
                leaf = leaf.astype(jnp.dtype(dtype))
            found.append(leaf.reshape(shape))
            begin = end
        return jax.tree.unflatten(self.structure, found)


def pack_states(tree: Any) -> Packed:
    """A tree of arrays, bool, float16, bfloat16, float32 or of integers to 32 bits."""
    leaves, structure = jax.tree.flatten(tree)
    arrays = [jnp.asarray(leaf) for leaf in leaves]
    parts = [_as_floats(array) for array in arrays]
    return Packed(
        values=jnp.concatenate(parts) if parts else jnp.zeros(0, jnp.float32),
        structure=structure,
        leaves=tuple((a.shape, a.dtype.name, _is_wide(a.dtype)) for a in arrays),
    )


def only_if(wanted: jax.Array | bool, compute: Callable[[], Any]) -> Any:
    """What `compute` gives where it is wanted; zeros, for nothing, elsewhere.

    Args:
      wanted: [] bool, known on the devices alone; or True.
      compute: Makes a tree of arrays; traced twice, and run where it is wanted.
    """
    if wanted is True:
        return compute()
    like = jax.eval_shape(compute)
    return jax.lax.cond(
        wanted,
        compute,
        lambda: jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), like),
    )


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
) -> dict[str, Any]:
    """What each state comes to; a metric of several numbers gives `NAME/part`."""
    found: dict[str, Any] = {}
    for name, metric in metrics.items():
        result = metric.result(states[name])
        if isinstance(result, Mapping):
            found |= {f"{name}/{part}": _plain(one) for part, one in result.items()}
        else:
            found[name] = _plain(result)
    return found


def _plain(result: Any) -> Any:
    """A number as Python's own; a histogram (`Bars`), for writers to draw, as it is."""
    return result if dataclasses.is_dataclass(result) else float(result)


def _is_wide(dtype: np.dtype) -> bool:
    return dtype.kind in "iu" and dtype.itemsize > 2


def _as_floats(array: jax.Array) -> jax.Array:
    flat = array.reshape(-1)
    if not _is_wide(flat.dtype):
        return flat.astype(jnp.float32)
    high, low = flat >> _HALF, flat & ((1 << _HALF) - 1)
    return jnp.concatenate([high.astype(jnp.float32), low.astype(jnp.float32)])
