"""What an array of an example or a batch looks like, without the array."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np


@dataclasses.dataclass(frozen=True, kw_only=True)
class ArraySpec:
    """Shape, type and axis names of one array.

    Anything that reads `shape` and `dtype` takes it for an abstract array,
    `jax.eval_shape` among them.

    Attributes:
      shape: The size of each axis.
      dtype: The NumPy type of an element.
      axes: The logical name of each axis (`batch`, `time`, …); None for an axis
        that its source does not name.
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    axes: tuple[str | None, ...]

    def __str__(self) -> str:
        sizes = ", ".join(
            f"{name}={size}" if name else str(size)
            for name, size in zip(self.axes, self.shape, strict=True)
        )
        return f"{self.dtype}[{sizes}]"


def array_spec(array: np.ndarray, axes: tuple[str | None, ...] = ()) -> ArraySpec:
    """The spec of `array`; axes without a name if `axes` does not fit its rank."""
    if len(axes) != array.ndim:
        axes = (None,) * array.ndim
    return ArraySpec(shape=array.shape, dtype=array.dtype, axes=axes)


def batched(example: Mapping[str, ArraySpec], batch_size: int) -> dict[str, ArraySpec]:
    """The specs of `batch_size` such examples, stacked on a leading `batch` axis."""
    return {
        name: ArraySpec(
            shape=(batch_size, *spec.shape),
            dtype=spec.dtype,
            axes=("batch", *spec.axes),
        )
        for name, spec in example.items()
    }
