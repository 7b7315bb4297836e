"""The position-wise feed-forward layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name
from jax.typing import DTypeLike
from jaxtyping import Array, Float

from fdlkit import suggest
from fdlkit.nn.einsum import Einsum

Activation = Literal["gelu", "silu", "relu"]


class Mlp(nn.Module):
    """Up, a non-linearity, down.

    Attributes:
      features: The width of input and output.
      width: The width between.
      activation: The non-linearity. `gelu` is the tanh form.
      gated: Whether the activation of one projection multiplies another, with a kernel
        of its own: with `silu` this is SwiGLU, with `gelu` GeGLU (Shazeer, 2020).
      out_init_scale: The variance of the output kernel, times its fan-in.
      dtype: What is computed in.
      param_dtype: What the kernels are stored in.
      bias: Whether all projections have a bias.
      kernel_init: Makes the kernels' first values instead of `out_init_scale`; one of
        `jax.nn.initializers`.
    """

    features: int
    width: int
    activation: Activation = "gelu"
    gated: bool = False
    out_init_scale: float = 1.0
    dtype: DTypeLike = jnp.float32
    param_dtype: DTypeLike = jnp.float32
    bias: bool = False
    kernel_init: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        """Refuses an activation that is none."""
        super().__post_init__()
        if self.activation not in ("gelu", "silu", "relu"):
            known = get_args(Activation)
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
            y = Einsum(
                "btd,df->btf",
                (self.features, self.width),
                ("embed", "mlp"),
                dtype=self.dtype,
                param_dtype=self.param_dtype,
                bias=self.bias,
                kernel_init=self.kernel_init,
                name=name,
            )(x)
            return checkpoint_name(y, "ffn1")

        if self.gated:
            y = activate(up("gate"), self.activation) * up("up")
        else:
            y = activate(up("up"), self.activation)
        y = nn.with_logical_constraint(y, ("batch", "time", "mlp"))
        y = Einsum(
            "btf,fd->btd",
            (self.width, self.features),
            ("mlp", "embed"),
            init_scale=self.out_init_scale,
            dtype=self.dtype,
            param_dtype=self.param_dtype,
            bias=self.bias,
            kernel_init=self.kernel_init,
            name="down",
        )(y)
        return checkpoint_name(y, "ffn2")


def activate(x: jax.Array, activation: Activation = "gelu") -> jax.Array:
    """Applies a non-linearity."""
    if activation == "gelu":
        return jax.nn.gelu(x, approximate=True)
    if activation == "silu":
        return jax.nn.silu(x)
    return jax.nn.relu(x)
