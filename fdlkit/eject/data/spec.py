"""What an array of an example or a batch looks like, without the array."""

from __future__ import annotations

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True, kw_only=True)
class ArraySpec:
    """Shape, type and axis names of one array.

    Attributes:
      shape: The size of each axis.
      dtype: The NumPy type of an element.
      axes: The logical name of each axis (`batch`, `time`, …), or None.
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    axes: tuple[str | None, ...]
