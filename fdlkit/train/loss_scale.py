"""Loss scaling: gradients that float16 would round to zero are computed larger."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp

from fdlkit.errors import UserError


@dataclasses.dataclass(frozen=True, kw_only=True)
class LossScale:
    """A fixed factor: of the loss before it is differentiated, and off its gradient.

    Without rounding it changes nothing. float16 has no numbers between 0 and 6e-8, and
    gradients of a model that computes in it are often smaller; bfloat16 has the range
    of float32 and needs no scale. A power of two is exact.

    Attributes:
      scale: The factor.
    """

    scale: float = 2.0**15

    def __post_init__(self) -> None:
        if not 0 < self.scale < float("inf"):
            raise UserError(
                f"scale={self.scale} of a LossScale: it multiplies the loss, so it is "
                "positive and finite",
                "32768.0 (2**15) is where most begin",
            )

    def begin(self) -> jax.Array | None:
        """What it keeps in the training state before step 1: nothing."""
        return None

    def factor(self, kept: jax.Array | None) -> jax.Array:
        """The factor of this step, [] float32."""
        del kept
        return jnp.float32(self.scale)

    def next(self, kept: jax.Array | None, finite: jax.Array) -> jax.Array | None:
        """What it keeps after a step, given whether that step was finite, [] bool."""
        del finite
        return kept

    def can_shrink(self, kept: jax.Array | None) -> jax.Array:
        """Whether a step that is not finite may be one with a smaller factor: no."""
        del kept
        return jnp.bool_(False)


@dataclasses.dataclass(frozen=True, kw_only=True)
class DynamicLossScale:
    """A factor that grows as long as gradients are finite, and shrinks when not.

    As in "Mixed Precision Training" (Micikevicius et al., 2018), with the numbers of
    NVIDIA's Apex. A step whose gradient is not finite makes no update. It is counted,
    and the next one has a smaller factor.

    Attributes:
      initial: The factor of step 1.
      interval: After so many finite steps in a row it grows.
      growth: What it is then multiplied by.
      shrinkage: What it is multiplied by after a step that was not finite.
      smallest: It becomes no smaller. A step that is not finite even so is not due to
        the factor, and ends the run.
      largest: It becomes no larger.
    """

    initial: float = 2.0**15
    interval: int = 2000
    growth: float = 2.0
    shrinkage: float = 0.5
    smallest: float = 1.0
    largest: float = 2.0**24

    def __post_init__(self) -> None:
        if not 0 < self.smallest <= self.initial <= self.largest < float("inf"):
            raise UserError(
                f"a DynamicLossScale begins at initial={self.initial:g}, which is not "
                f"between smallest={self.smallest:g} and largest={self.largest:g}",
                "all three are positive and finite",
            )
        if self.interval < 1 or self.growth < 1 or not 0 < self.shrinkage < 1:
            raise UserError(
                f"a DynamicLossScale of interval={self.interval}, growth="
                f"{self.growth:g}, shrinkage={self.shrinkage:g}",
                "interval counts steps, so it is 1 or more; growth is 1 or more; "
                "shrinkage is between 0 and 1",
            )

    def begin(self) -> jax.Array:
        """The factor, and for how many steps it has been finite: [2] float32."""
        return jnp.array([self.initial, 0], jnp.float32)

    def factor(self, kept: jax.Array) -> jax.Array:
        """The factor of this step, [] float32."""
        return kept[0]

    def next(self, kept: jax.Array, finite: jax.Array) -> jax.Array:
        """What it keeps after a step, given whether that step was finite, [] bool."""
        factor, steps = kept[0], kept[1] + 1
        grows = steps >= self.interval
        larger = jnp.minimum(factor * self.growth, self.largest)
        smaller = jnp.maximum(factor * self.shrinkage, self.smallest)
        return jnp.stack(
            [
                jnp.where(finite, jnp.where(grows, larger, factor), smaller),
                jnp.where(finite & ~grows, steps, 0.0),
            ]
        )

    def can_shrink(self, kept: jax.Array) -> jax.Array:
        """Whether a step that is not finite may be one with a smaller factor."""
        return kept[0] > self.smallest


def unscaled(grads: Any, factor: jax.Array) -> Any:
    """The gradient of the loss itself, from that of `factor` times it."""
    return jax.tree.map(lambda g: (g / factor).astype(g.dtype), grads)
