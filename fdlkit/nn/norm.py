"""Normalisation over the last axis, computed in float32."""

from __future__ import annotations

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Float

from fdlkit.nn.init import ones_init, zeros_init


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
    """Subtracts the mean, divides by the deviation and scales (Ba et al., 2016).

    Attributes:
      epsilon: Added to the variance.
      param_dtype: What the scale is stored in.
      bias: Whether a bias, zeros at the start, is added in the end.
      unit_offset: Whether the scale is stored less 1, as in Pax: weight decay then
        draws it to 1, and not to 0.
    """

    epsilon: float = 1e-6
    param_dtype: DTypeLike = jnp.float32
    bias: bool = False
    unit_offset: bool = False

    @nn.compact
    def __call__(self, x: Float[Array, "*b embed"]) -> Float[Array, "*b embed"]:
        """Returns `x`, normalised, in its own dtype: `[..., embed]`."""
        scale = self.param(
            "scale",
            (zeros_init if self.unit_offset else ones_init)(("embed",)),
            x.shape[-1:],
            self.param_dtype,
        )
        y = x.astype(jnp.float32)
        y -= jnp.mean(y, axis=-1, keepdims=True)
        y *= jax.lax.rsqrt(jnp.mean(y * y, axis=-1, keepdims=True) + self.epsilon)
        y *= scale + 1 if self.unit_offset else scale
        if self.bias:
            y += self.param(
                "bias", zeros_init(("embed",)), x.shape[-1:], self.param_dtype
            )
        return y.astype(x.dtype)
