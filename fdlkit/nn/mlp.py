"""The position-wise feed-forward layer."""

from __future__ import annotations

from typing import Literal, get_args

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Float

from fdlkit import suggest
from fdlkit.nn.einsum import Einsum

Activation = Literal["gelu", "silu", "relu"]


class Mlp(nn.Module):
    """Up, a non-linearity, down; gated if asked for.

    Gated with `silu` is SwiGLU, gated with `gelu` is GeGLU (Shazeer, 2020): the
    activation of one projection multiplies another.

    Attributes:
      features: The width of input and output.
      width: The width between.
      activation: The non-linearity. `gelu` is the tanh form.
      gated: Whether a third kernel gates the hidden layer.
      out_init_scale: The variance of the output kernel, times its fan-in.
      dtype: What is computed in.
      param_dtype: What the kernels are stored in.
    """

    features: int
    width: int
    activation: Activation = "gelu"
    gated: bool = False
    out_init_scale: float = 1.0
    dtype: DTypeLike = jnp.float32
    param_dtype: DTypeLike = jnp.float32

    def __post_init__(self) -> None:
        """Refuses an activation that is none."""
        super().__post_init__()
        known = get_args(Activation)
        if self.activation not in known:
            meant = suggest.hint(str(self.activation), known)
            raise ValueError(
                f"activation={self.activation!r} is not one of {', '.join(known)}"
                + (f"; {meant}" if meant else "")
            )

    @nn.compact
    def __call__(
        self, x: Float[Array, "batch time embed"]
    ) -> Float[Array, "batch time embed"]:
        """Returns the layer's output, `[batch, time, embed]` to the same shape."""

        def up(name: str) -> jax.Array:
            return Einsum(
                "btd,df->btf",
                (self.features, self.width),
                ("embed", "mlp"),
                dtype=self.dtype,
                param_dtype=self.param_dtype,
                name=name,
            )(x)

        if self.gated:
            y = activate(self.activation, up("gate")) * up("up")
        else:
            y = activate(self.activation, up("up"))
        y = nn.with_logical_constraint(y, ("batch", "time", "mlp"))
        return Einsum(
            "btf,fd->btd",
            (self.width, self.features),
            ("mlp", "embed"),
            init_scale=self.out_init_scale,
            dtype=self.dtype,
            param_dtype=self.param_dtype,
            name="down",
        )(y)


def activate(activation: Activation, x: jax.Array) -> jax.Array:
    """Applies the named non-linearity."""
    if activation == "gelu":
        return jax.nn.gelu(x, approximate=True)
    if activation == "silu":
        return jax.nn.silu(x)
    return jax.nn.relu(x)
