"""What the arrays of a step hold, as lines for people."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from fdlkit.key_guesses import names_below, spelled_key

Parts = tuple[str | int, ...]

# How many of an array's numbers are shown.
_FIRST = 8
# The roots of a context in the order in which a step makes them.
_ROOTS = (
    *("step", "batch", "params", "interms", "preds", "losses"),
    *("grads", "updates", "metrics"),
)
# These have the axes of the parameters.
_LIKE_PARAMS = ("params", "grads", "updates")


@dataclasses.dataclass(frozen=True)
class Value:
    """What is at the end of a key path.

    Attributes:
      key: The key path.
      array: `[...]`, on the host.
      axes: The name of each of its axes, None where one has none; () if unknown.
    """

    key: str
    array: np.ndarray
    axes: tuple[str | None, ...] = ()

    @property
    def is_float(self) -> bool:
        """Whether it may hold NaN at all."""
        return bool(jnp.issubdtype(self.array.dtype, jnp.inexact))

    def count(self, what: Any) -> int:
        """How many of its numbers are so: `np.isnan`, `np.isinf`."""
        return int(what(self.array.astype(np.float32)).sum()) if self.is_float else 0

    def shape_text(self) -> str:
        """`float32[vocab=256, embed=32]`, `int32[8, 32]`."""
        axes = self.axes or (None,) * self.array.ndim
        dims = [
            f"{name}={size}" if name else str(size)
            for name, size in zip(axes, self.array.shape, strict=True)
        ]
        return f"{self.array.dtype}[{', '.join(dims)}]"

    def numbers_text(self) -> str:
        """Its range and mean (of what is no NaN), and how many are NaN and infinite."""
        if not self.array.size:
            return "empty"
        if not jnp.issubdtype(self.array.dtype, jnp.number):
            return f"true {int((self.array != 0).sum()):,} of {self.array.size:,}"
        numbers = self.array.astype(np.float64)
        nan, inf = self.count(np.isnan), self.count(np.isinf)
        there = numbers[~np.isnan(numbers)]
        parts = []
        if there.size:
            with np.errstate(invalid="ignore"):
                parts.append(
                    f"min {there.min():.6g}  max {there.max():.6g}  "
                    f"mean {there.mean():.6g}"
                )
        if self.is_float:
            parts.append(f"NaN {nan:,}")
        if inf:
            parts.append(f"inf {inf:,}")
        return "  ".join(parts)

    def first_text(self) -> str:
        """Its first numbers."""
        flat = self.array.reshape(-1)
        more = " …" if flat.size > _FIRST else ""
        return " ".join(f"{number:.6g}" for number in flat[:_FIRST].tolist()) + more


def values(
    context: Mapping[str, Any], axes: Mapping[Parts, tuple[str | None, ...]]
) -> list[Value]:
    """All arrays and numbers of a context, by key path.

    Args:
      context: A step's.
      axes: From `parameter_axes`.
    """
    return [
        Value(
            spelled_key(place),
            array := np.asarray(leaf),
            _axes_of(place, array.ndim, axes),
        )
        for root in sorted(context, key=_ROOTS.index)
        for place, leaf in _leaves((root,), context[root])
    ]


def parameter_axes(variables: Mapping[str, Any]) -> dict[Parts, tuple[Any, ...]]:
    """The logical axis names of parameters, by their place below `params`.

    Args:
      variables: Boxed, see `Shapes.variables`.
    """
    is_box = lambda leaf: isinstance(leaf, nn.Partitioned)  # noqa: E731
    found, _ = jax.tree_util.tree_flatten_with_path(
        dict(variables).get("params", {}), is_leaf=is_box
    )
    return {
        tuple(part.key for part in path): tuple(box.names)
        for path, box in found
        if is_box(box) and all(hasattr(part, "key") for part in path)
    }


def table(rows: Sequence[Value], *, first: bool = False) -> list[str]:
    """A line each, in columns: key path, type and axes, numbers.

    Args:
      rows: What to show.
      first: Show the first numbers of each as well.
    """
    keys = max((len(row.key) for row in rows), default=0)
    shapes = max((len(row.shape_text()) for row in rows), default=0)
    lines = []
    for row in rows:
        lines.append(
            f"{row.key:<{keys}}  {row.shape_text():<{shapes}}  {row.numbers_text()}"
        )
        if first:
            lines.append(f"  {row.first_text()}")
    return lines


def _axes_of(
    place: Parts, ndim: int, axes: Mapping[Parts, tuple[str | None, ...]]
) -> tuple[str | None, ...]:
    if place[0] not in _LIKE_PARAMS:
        return ()
    named = axes.get(place[1:], ())
    return named if len(named) == ndim else ()


def _leaves(place: Parts, value: Any) -> Iterator[tuple[Parts, Any]]:
    below = names_below(value)
    if not below:
        if hasattr(value, "shape") or isinstance(value, bool | int | float):
            yield place, value
        return
    for part, held in below.items():
        yield from _leaves((*place, part), held)
