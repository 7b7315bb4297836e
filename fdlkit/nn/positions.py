"""Where a token stands: rotary, learned and sinusoidal positions."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Float, Integer

from fdlkit.nn.init import normal_init


@dataclasses.dataclass(frozen=True)
class Rotary:
    """Rotates pairs of features by an angle that grows with the position.

    Dot products of rotated queries and keys depend on the distance alone (Su et al.,
    2021). Feature `i` is paired with feature `i + head_dim / 2`.

    Attributes:
      base: The slowest pair turns by about one radian in `base` positions.
    """

    base: float = 10_000.0

    def __call__(self, x: jax.Array, positions: jax.Array) -> jax.Array:
        """Returns `x`, rotated.

        Args:
          x: `[batch, time, heads, head_dim]`, with an even `head_dim`.
          positions: Integers, `[batch, time]`, or `[1, time]` for all rows alike.
        """
        half = x.shape[-1] // 2
        if x.shape[-1] % 2:
            raise ValueError(
                f"rotary positions need an even head_dim, not {x.shape[-1]}"
            )
        frequency = self.base ** (-jnp.arange(half, dtype=jnp.float32) / half)
        angle = positions[:, :, None, None].astype(jnp.float32) * frequency
        sin, cos = jnp.sin(angle), jnp.cos(angle)
        first, second = jnp.split(x.astype(jnp.float32), 2, axis=-1)
        rotated = (first * cos - second * sin, second * cos + first * sin)
        return jnp.concatenate(rotated, axis=-1).astype(x.dtype)


class LearnedPositions(nn.Module):
    """A table of one vector for each position, to be added to the embeddings.

    Attributes:
      length: The number of positions; later ones give NaN.
      features: The width of a vector.
      init_scale: The root mean square of the vectors given at the start.
      dtype: What is computed in.
      param_dtype: What the table is stored in.
      scaled: Whether what is looked up is multiplied by the root of the width.
      embedding_init: Makes the table's first values instead of `init_scale`; one of
        `jax.nn.initializers`.
    """

    length: int
    features: int
    init_scale: float = 0.5
    dtype: DTypeLike = jnp.float32
    param_dtype: DTypeLike = jnp.float32
    scaled: bool = True
    embedding_init: Callable[..., Any] | None = None

    @nn.compact
    def __call__(
        self, positions: Integer[Array, "batch time"]
    ) -> Float[Array, "batch time {self.features}"]:
        """Returns the positions' vectors, `[batch, time]` to `[batch, time, embed]`.

        They are the table's, times the root of their width if `scaled`, as in `Embed`.
        """
        table = self.param(
            "embedding",
            normal_init(
                self.init_scale / math.sqrt(self.features),
                (None, "embed"),
                self.embedding_init,
            ),
            (self.length, self.features),
            self.param_dtype,
        )
        table = table.astype(self.dtype)
        vectors = jnp.take(table, positions, axis=0, mode="fill")
        return vectors * math.sqrt(self.features) if self.scaled else vectors


class SinusoidalPositions(nn.Module):
    """Sines and cosines of the position, to be added to the embeddings; no parameters.

    The first half of the features are sines, the second half cosines, of waves whose
    lengths grow geometrically from 2 pi to `2 pi * longest` (Vaswani et al., 2017, in
    Pax's arrangement). Of an odd number of features the last is 0.

    Attributes:
      features: The width of a vector.
      longest: How many positions the slowest wave needs for a radian.
      dtype: What is returned; the waves are computed in float32.
    """

    features: int
    longest: float = 10_000.0
    dtype: DTypeLike = jnp.float32

    def __call__(
        self, positions: Integer[Array, "batch time"]
    ) -> Float[Array, "batch time {self.features}"]:
        """Returns the positions' vectors, `[batch, time]` to `[batch, time, embed]`."""
        waves = self.features // 2
        slower = math.log(self.longest) / max(waves - 1, 1)
        frequency = jnp.exp(-slower * jnp.arange(waves, dtype=jnp.float32))
        angle = positions[..., None].astype(jnp.float32) * frequency
        vectors = jnp.concatenate([jnp.sin(angle), jnp.cos(angle)], axis=-1)
        padding = ((0, 0), (0, 0), (0, self.features % 2))
        return jnp.pad(vectors, padding).astype(self.dtype)


def segment_positions(segment_ids: jax.Array) -> jax.Array:
    """Returns each token's place in its own segment.

    Args:
      segment_ids: Integers, `[batch, time]`; neighbours of one value are a segment.

    Returns:
      `[batch, time]`: 0, 1, 2, …, from 0 again wherever the value changes.
    """
    time = jnp.arange(segment_ids.shape[1])
    changes = segment_ids[:, 1:] != segment_ids[:, :-1]
    starts = jnp.pad(jnp.where(changes, time[1:], 0), ((0, 0), (1, 0)))
    return time - jax.lax.cummax(starts, axis=1)
