"""A plain multi-layer perceptron, for data that is one vector an example."""

from __future__ import annotations

import math
from collections.abc import Sequence

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from fdlkit.nn.init import normal_init, zeros_init
from fdlkit.nn.mlp import Activation, activate


class Dense(nn.Module):
    """A linear map with a bias, its axes named.

    Attributes:
      features: The width of the output.
      axes: The logical names of the kernel's dims: input, output.
      dtype: What is computed in.
      param_dtype: What the parameters are stored in.
    """

    features: int
    axes: tuple[str | None, str | None] = ("embed", "mlp")
    dtype: DTypeLike = jnp.float32
    param_dtype: DTypeLike = jnp.float32

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """`[..., inputs]` to `[..., features]`."""
        kernel = self.param(
            "kernel",
            normal_init(1 / math.sqrt(x.shape[-1]), self.axes),
            (x.shape[-1], self.features),
            self.param_dtype,
        )
        bias = self.param(
            "bias",
            zeros_init(self.axes[1:]),
            (self.features,),
            self.param_dtype,
        )
        return x.astype(self.dtype) @ kernel.astype(self.dtype) + bias.astype(
            self.dtype
        )


class DenseNet(nn.Module):
    """Layers of one kind, a non-linearity after each but the last.

    Attributes:
      widths: The width of each hidden layer.
      outputs: The width of the output.
      activation: The non-linearity.
      dtype: What is computed in.
      param_dtype: What the parameters are stored in.
    """

    widths: Sequence[int]
    outputs: int
    activation: Activation = "gelu"
    dtype: DTypeLike = jnp.float32
    param_dtype: DTypeLike = jnp.float32

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """`[batch, inputs]` to `[batch, outputs]`; layers are `layer_0`, ….

        Hidden layers are cut over `mlp` and uncut in turn, so that a mesh axis which
        cuts one dim of a kernel never has to cut both.
        """
        for number, width in enumerate(self.widths):
            axes = ("embed", "mlp") if number % 2 == 0 else ("mlp", "embed")
            layer = Dense(
                width,
                (None, axes[1]) if number == 0 else axes,
                dtype=self.dtype,
                param_dtype=self.param_dtype,
                name=f"layer_{number}",
            )
            x = activate(layer(x), self.activation)
        inner = None if not self.widths else ("embed", "mlp")[len(self.widths) % 2]
        output = Dense(
            self.outputs,
            (inner, None),
            dtype=self.dtype,
            param_dtype=self.param_dtype,
            name="output",
        )
        return output(x)
