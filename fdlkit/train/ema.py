"""Averages of the parameters over the steps: what evaluations use in their place."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp

from fdlkit.errors import UserError


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ema:
    """An exponential moving average of the parameters (Polyak averaging).

    After each update `average += (1 - decay) * (params - average)`. It begins as the
    initial parameters; the two switches below have it forget them.

    Attributes:
      decay: What is left of the average after an update; of the last
        `1 / (1 - decay)` updates it is mostly made.
      debias: Weigh as if the average had begun at zero and been divided by what then
        is missing, `1 - decay**n`, as Adam does with its moments. After the first
        update it is the parameters.
      warmup: Decay by at most `(1 + n) / (10 + n)` after n updates, as TensorFlow's
        `ExponentialMovingAverage(num_updates=n)` does.
    """

    decay: float = 0.999
    debias: bool = False
    warmup: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.decay < 1:
            raise UserError(
                f"decay={self.decay} of an Ema: it is the part of the average that an "
                "update leaves, so at least 0 and less than 1",
                "0.999 averages over about the last 1,000 updates",
            )
        if self.debias and self.warmup:
            raise UserError(
                "an Ema has debias or warmup, not both: each is a way to forget the "
                "initial parameters",
                "leave one of them False",
            )

    def begin(self, params: Any) -> Any:
        """The average before the first update: a copy of the parameters.

        In float32 where those are narrower: in 8 bits of precision a thousandth
        part of a change is nothing.
        """
        return jax.tree.map(lambda p: jnp.array(p, _average_type(p.dtype)), params)

    def next(self, average: Any, params: Any, updates: Any) -> Any:
        """The average after an update.

        Args:
          average: The average before it.
          params: The parameters after it.
          updates: How many updates were made, this one among them, [] int32.
        """
        share = self.share(updates)

        # Written so that what does not change stays what it is, to the bit.
        def moved(old: Any, new: Any) -> Any:
            if not jnp.issubdtype(old.dtype, jnp.inexact):
                return new
            return old + share.astype(old.dtype) * (new.astype(old.dtype) - old)

        return jax.tree.map(moved, average, params)

    def share(self, updates: Any) -> jax.Array:
        """How much of the average the newest parameters become, [] float32."""
        n = jnp.asarray(updates, jnp.float32)
        rest = jnp.float32(1 - self.decay)
        if self.debias and self.decay:
            # 1 - decay**n, to all its digits where that is near 0.
            return rest / -jnp.expm1(n * jnp.float32(math.log(self.decay)))
        if self.warmup:
            return jnp.maximum(rest, 9 / (10 + n))
        return rest


def _average_type(dtype: Any) -> Any:
    if jnp.issubdtype(dtype, jnp.floating):
        return jnp.promote_types(dtype, jnp.float32)
    return dtype
