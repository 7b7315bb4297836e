"""A linear map over named axes: one kernel, one `jnp.einsum`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from fdlkit.nn.init import normal_init, zeros_init
from fdlkit.sharding.constraints import splits


class Einsum(nn.Module):
    """Multiplies its input by a learned kernel, axes matched by letters.

    Kernels keep their axes apart (`[embed, heads, head_dim]`, not
    `[embed, heads * head_dim]`), so that a mesh axis splits whole heads and never
    cuts through one.

    Usage:

    ```
    Einsum("btd,dhk->bthk", (128, 4, 32), ("embed", "heads", "head_dim"))
    ```

    Attributes:
      equation: Input and kernel to output, as `jnp.einsum` spells it; input and output
        begin with batch and time: `bt`.
      shape: The kernel's shape.
      axes: The kernel's logical axis names, one for each dimension.
      init_scale: The kernel's entries are normal with variance `init_scale / fan_in`,
        where the fan-in is the product of *all* summed kernel dimensions.
      dtype: What is computed in.
      param_dtype: What the kernel is stored in.
      bias: Whether a bias, zeros at the start, is added over the kernel's axes of the
        output.
      kernel_init: Makes the kernel's first values instead of `init_scale`; one of
        `jax.nn.initializers`.
    """

    equation: str
    shape: tuple[int, ...]
    axes: tuple[str | None, ...]
    init_scale: float = 1.0
    dtype: DTypeLike = jnp.float32
    param_dtype: DTypeLike = jnp.float32
    bias: bool = False
    kernel_init: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        """Refuses an equation, a shape and axes that do not fit together."""
        super().__post_init__()
        kernel = kernel_letters(self.equation)
        if not len(kernel) == len(self.shape) == len(self.axes):
            raise ValueError(
                f"equation={self.equation!r} gives a kernel of {len(kernel)} axes, "
                f"shape={self.shape} has {len(self.shape)} and axes={self.axes} "
                f"names {len(self.axes)}"
            )

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """Returns the product, in `dtype`."""
        check_sizes(self.equation, x.shape, self.shape)
        stddev = math.sqrt(self.init_scale / fan_in(self.equation, self.shape))
        kernel = self.param(
            "kernel",
            normal_init(stddev, self.axes, self.kernel_init),
            self.shape,
            self.param_dtype,
        )
        y = contract(self.equation, x.astype(self.dtype), kernel.astype(self.dtype))
        if self.bias:
            letters = kernel_letters(self.equation)
            kept = [letters.index(c) for c in self.equation.partition("->bt")[2]]
            axes = tuple(self.axes[i] for i in kept)
            shape = tuple(self.shape[i] for i in kept)
            bias = self.param("bias", zeros_init(axes), shape, self.param_dtype)
            y += bias.astype(self.dtype)
        return y


def contract(
    equation: str,
    x: jax.Array,
    kernel: jax.Array,
    *,
    preferred_element_type: DTypeLike | None = None,
) -> jax.Array:
    """Returns `jnp.einsum(equation, x, kernel)`, with fast gradients on CPU.

    Batch and time are merged for the product: with two summed axes in the kernel's
    gradient, XLA on CPU computes what comes before it again, transposed (a whole MLP
    then takes three times as long). A mesh that splits time cannot split the merged
    axis, so there they stay apart.

    Args:
      equation: Input and kernel to output; `bt` comes first in input and output.
      x: `[batch, time, ...]`.
      kernel: What `x` is multiplied by.
      preferred_element_type: The dtype of the sums and of the output; None: `x`'s.
    """
    if splits("time"):
        return jnp.einsum(
            equation, x, kernel, preferred_element_type=preferred_element_type
        )
    rows = jnp.einsum(
        equation.replace("bt", "n"),
        x.reshape(-1, *x.shape[2:]),
        kernel,
        preferred_element_type=preferred_element_type,
    )
    return rows.reshape(*x.shape[:2], *rows.shape[1:])


def kernel_letters(equation: str) -> str:
    """Returns the kernel's letters: `"dhk"` for `"btd,dhk->bthk"`."""
    form = re.fullmatch(r"bt[a-z]+,([a-z]+)->bt[a-z]+", equation)
    if form is None or set("btn") & set(form[1]):
        raise ValueError(f"equation={equation!r} is not of the form 'bt…,kernel->bt…'")
    return form[1]


def fan_in(equation: str, shape: tuple[int, ...]) -> int:
    """Returns how many kernel entries are summed into one output value."""
    output = equation.partition("->")[2]
    letters = kernel_letters(equation)
    return math.prod(
        size
        for letter, size in zip(letters, shape, strict=True)
        if letter not in output
    )


def check_sizes(
    equation: str, input_shape: tuple[int, ...], kernel_shape: tuple[int, ...]
) -> None:
    """Refuses an input that does not fit the kernel.

    Raises:
      ValueError: Which dimension differs.
    """
    letters = equation.partition(",")[0]
    if len(letters) != len(input_shape):
        raise ValueError(f"{equation!r} takes {letters}, not a shape {input_shape}")
    sizes = dict(zip(letters, input_shape, strict=True))
    for letter, size in zip(kernel_letters(equation), kernel_shape, strict=True):
        if sizes.get(letter, size) != size:
            raise ValueError(
                f"{equation!r}: the input has {letter}={sizes[letter]}, "
                f"the kernel {letter}={size}"
            )
