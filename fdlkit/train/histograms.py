"""Histograms of arrays, counted where the arrays are.

What travels to the host are the counts of some hundred bars: the trainer computes a
metric at log points only, inside the step, so this costs nothing in between.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from fdlkit.errors import UserError
from fdlkit.keys import Key
from fdlkit.sharding.layout import tree_path
from fdlkit.train.metrics import Metric, State

# Bars of positive numbers: two for each power of two, from 2**-40 on. What is smaller
# goes into the lowest, what is larger into the highest; so too for negative numbers,
# and zero has a bar of its own in between.
_PER_OCTAVE = 2
_LOWEST_OCTAVE = -40
_SIDE = 64 * _PER_OCTAVE
_BARS = 2 * _SIDE + 1


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Bars:
    """A histogram: how many of an array's numbers are in which range.

    Attributes:
      limits: The upper end of each bar, ascending.
      counts: The numbers in each.
      least: The lower end of the lowest bar that is not empty.
      most: The upper end of the highest.
      count: All finite numbers.
      total: Their sum.
      squares: The sum of their squares.
    """

    limits: list[float]
    counts: list[float]
    least: float
    most: float
    count: float
    total: float
    squares: float

    def summary(self) -> dict[str, float]:
        """`count`, `mean`, `rms` and the quantiles `p05`, `p50` and `p95`.

        A quantile is the upper end of the bar that it is in.
        """
        count = max(self.count, 1.0)
        below = np.cumsum(self.counts)
        said = {
            "count": self.count,
            "mean": self.total / count,
            "rms": (self.squares / count) ** 0.5,
        }
        for percent in (5, 50, 95):
            place = int(np.searchsorted(below, self.count * percent / 100))
            place = min(place, len(self.limits) - 1)
            said[f"p{percent:02}"] = self.limits[place] if self.limits else 0.0
        return said


@dataclasses.dataclass(frozen=True, kw_only=True)
class Histogram(Metric):
    """How the numbers below a key path are spread, as `Bars`.

    Usage, in a trainer: `train_metrics={"grads": Histogram(values="grads.layers")}`.

    Attributes:
      values: Key path of an array or of a tree of arrays: `params`, `grads.embed`,
        `updates`, `interms.…`.
      each: A histogram for each array of the tree, named by its path; else one of all
        together.
    """

    values: Key = "params"
    each: bool = False

    def state(self, *, values: Any, mask: jax.Array | None) -> State:
        """The counts `[bars]` and sums `[3]` of each array, by its path."""
        del mask  # it speaks of a batch's elements
        leaves = jax.tree_util.tree_leaves_with_path(values)
        if not leaves:
            raise UserError(f"a histogram of {self.values}: there is no array")
        states = {tree_path(path): _counted(array) for path, array in leaves}
        if self.each:
            return states
        return {"": jax.tree.map(lambda *arrays: sum(arrays), *states.values())}

    def result(self, state: State) -> Any:
        """One `Bars`, or one for each array by its path."""
        found = {path: _as_bars(counts) for path, counts in state.items()}
        return found if self.each else found[""]


def _counted(array: jax.Array) -> Mapping[str, jax.Array]:
    # Not flattened: a cut array stays cut, and only the counts are added up.
    x = jnp.asarray(array, jnp.float32)
    finite = jnp.isfinite(x)
    x = jnp.where(finite, x, 0.0)
    level = jnp.floor((jnp.log2(jnp.abs(x)) - _LOWEST_OCTAVE) * _PER_OCTAVE)
    level = jnp.clip(level, 0, _SIDE - 1).astype(jnp.int32)
    place = jnp.where(x > 0, _SIDE + 1 + level, _SIDE - 1 - level)
    place = jnp.where(x == 0, _SIDE, place)
    ones = finite.astype(jnp.int32)
    return {
        "bars": jnp.zeros(_BARS, jnp.int32).at[place].add(ones),
        "sums": jnp.stack([jnp.sum(finite, dtype=jnp.float32), x.sum(), (x * x).sum()]),
    }


def _as_bars(state: Mapping[str, Any]) -> Bars:
    counts = np.asarray(state["bars"], np.float64)
    ends = 2.0 ** (_LOWEST_OCTAVE + np.arange(_SIDE + 1) / _PER_OCTAVE)
    # From the left: negative numbers by size, zero, positive ones.
    limits = np.concatenate([-ends[-2::-1], [0.0], ends[1:]])
    lower = np.concatenate([-ends[:0:-1], [0.0], ends[:-1]])
    filled = np.flatnonzero(counts)
    first, last = (filled[0], filled[-1]) if filled.size else (_SIDE, _SIDE)
    # Empty bars at both ends are left out, but for one that shows where it begins.
    shown = slice(max(first - 1, 0), last + 1)
    count, total, squares = np.asarray(state["sums"], np.float64).tolist()
    return Bars(
        limits=limits[shown].tolist(),
        counts=counts[shown].tolist(),
        least=float(lower[first]),
        most=float(limits[last]),
        count=count,
        total=total,
        squares=squares,
    )
