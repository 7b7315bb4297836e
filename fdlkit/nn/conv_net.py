"""A small convolutional network for images."""

from __future__ import annotations

import math
from collections.abc import Sequence

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from fdlkit.nn.dense_net import Dense
from fdlkit.nn.init import normal_init, zeros_init


class Conv(nn.Module):
    """A convolution of 3 by 3 with a bias, padded to the size of its input.

    Attributes:
      features: The channels of the output.
      dtype: What is computed in.
      param_dtype: What the parameters are stored in.
    """

    features: int
    dtype: DTypeLike = jnp.float32
    param_dtype: DTypeLike = jnp.float32

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """`[batch, height, width, channels]` to `[batch, height, width, features]`."""
        kernel = self.param(
            "kernel",
            normal_init(math.sqrt(2 / (9 * x.shape[-1])), (None, None, None, "mlp")),
            (3, 3, x.shape[-1], self.features),
            self.param_dtype,
        )
        bias = self.param(
            "bias",
            zeros_init(("mlp",)),
            (self.features,),
            self.param_dtype,
        )
        y = jax.lax.conv_general_dilated(
            x.astype(self.dtype),
            kernel.astype(self.dtype),
            window_strides=(1, 1),
            padding="SAME",
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        )
        return y + bias.astype(self.dtype)


class ConvNet(nn.Module):
    """Convolutions, each halving the image, then one hidden layer.

    Dropout, of the hidden layer, is on exactly when a `dropout` random key is given.

    Attributes:
      classes: The number of classes.
      channels: Of each convolution.
      hidden: The width of the hidden layer.
      dropout: The chance that a value of the hidden layer is left out.
      dtype: What is computed in.
      param_dtype: What the parameters are stored in.
    """

    classes: int
    channels: Sequence[int] = (32, 64)
    hidden: int = 128
    dropout: float = 0.0
    dtype: DTypeLike = jnp.float32
    param_dtype: DTypeLike = jnp.float32

    @nn.compact
    def __call__(self, image: jax.Array) -> jax.Array:
        """Returns a score for each class.

        Args:
          image: `[batch, height, width, channels]`.

        Returns:
          `[batch, classes]` float32.
        """
        x = image
        for number, channels in enumerate(self.channels):
            x = Conv(
                channels,
                dtype=self.dtype,
                param_dtype=self.param_dtype,
                name=f"conv_{number}",
            )(x)
            x = nn.max_pool(nn.relu(x), (2, 2), strides=(2, 2))
            x = nn.with_logical_constraint(x, ("batch", None, None, "mlp"))
        x = x.reshape(x.shape[0], -1)
        x = nn.relu(self._dense(self.hidden, ("embed", "mlp"), "hidden_layer")(x))
        x = nn.Dropout(self.dropout, deterministic=not self.has_rng("dropout"))(x)
        x = self._dense(self.classes, ("mlp", None), "output")(x)
        return x.astype(jnp.float32)

    def _dense(
        self, features: int, axes: tuple[str | None, str | None], name: str
    ) -> Dense:
        return Dense(
            features, axes, dtype=self.dtype, param_dtype=self.param_dtype, name=name
        )
