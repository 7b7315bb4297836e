"""Normalisation over the last axis, computed in float32."""

from __future__ import annotations

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Float

from fdlkit.nn.init import ones_init


class RmsNorm(nn.Module):
    """Divides by the root mean square and scales (Zhang & Sennrich, 2019).

    Attributes:
      epsilon: Added to the mean square.
      param_dtype: What the scale is stored in.
    """

    epsilon: float = 1e-6
    param_dtype: DTypeLike = jnp.float32

    @nn.compact
    def __call__(self, x: Float[Array, "*b embed"]) -> Float[Array, "*b embed"]:
        """Returns `x`, normalised, in its own dtype: `[..., embed]`."""
        scale = self.param(
            "scale",
            ones_init(("embed",)),
            x.shape[-1:],
            self.param_dtype,
        )
        y = x.astype(jnp.float32)
        y *= jax.lax.rsqrt(jnp.mean(y * y, axis=-1, keepdims=True) + self.epsilon)
        return (y * scale).astype(x.dtype)


class LayerNorm(nn.Module):
    """Subtracts the mean, divides by the deviation and scales, without a bias.

    Attributes:
      epsilon: Added to the variance.
      param_dtype: What the scale is stored in.
    """

    epsilon: float = 1e-6
    param_dtype: DTypeLike = jnp.float32

    @nn.compact
    def __call__(self, x: Float[Array, "*b embed"]) -> Float[Array, "*b embed"]:
        """Returns `x`, normalised, in its own dtype: `[..., embed]`."""
        scale = self.param(
            "scale",
            ones_init(("embed",)),
            x.shape[-1:],
            self.param_dtype,
        )
        y = x.astype(jnp.float32)
        y -= jnp.mean(y, axis=-1, keepdims=True)
        y *= jax.lax.rsqrt(jnp.mean(y * y, axis=-1, keepdims=True) + self.epsilon)
        return (y * scale).astype(x.dtype)
