"""Initial values of parameters, each axis with its logical name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flax.linen as nn


def normal_init(stddev: float, axes: tuple[str | None, ...]) -> Callable[..., Any]:
    """Returns an initialiser: normal around 0, axes named."""
    return nn.with_logical_partitioning(nn.initializers.normal(stddev), axes)


def ones_init(axes: tuple[str | None, ...]) -> Callable[..., Any]:
    """Returns an initialiser: all ones, axes named."""
    return nn.with_logical_partitioning(nn.initializers.ones, axes)
