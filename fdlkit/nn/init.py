"""Initial values of parameters, each axis with its logical name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flax.linen as nn


def normal_init(
    stddev: float,
    axes: tuple[str | None, ...],
    instead: Callable[..., Any] | None = None,
) -> Callable[..., Any]:
    """Returns an initialiser, axes named: normal around 0.

    Args:
      stddev: The standard deviation.
      axes: Logical names of the dims.
      instead: What takes the normal's place: one of `jax.nn.initializers`, made:
        `(key, shape, dtype) -> array`.
    """
    initial = nn.initializers.normal(stddev) if instead is None else instead
    return nn.with_logical_partitioning(initial, axes)


def ones_init(axes: tuple[str | None, ...]) -> Callable[..., Any]:
    """Returns an initialiser: all ones, axes named."""
    return nn.with_logical_partitioning(nn.initializers.ones, axes)


def zeros_init(axes: tuple[str | None, ...]) -> Callable[..., Any]:
    """Returns an initialiser: all zeros, axes named."""
    return nn.with_logical_partitioning(nn.initializers.zeros, axes)
