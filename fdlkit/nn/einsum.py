"""A linear map over named axes: one kernel, one `jnp.einsum`."""

from __future__ import annotations

import math

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from fdlkit.nn.init import normal_init


class Einsum(nn.Module):
    """Multiplies its input by a learned kernel, axes matched by letters.

    Kernels keep their axes apart (`[embed, heads, head_dim]`, not
    `[embed, heads * head_dim]`), so that a mesh axis splits whole heads and never
    cuts through one. There is no bias.

    Usage:

    ```
    Einsum("btd,dhk->bthk", (128, 4, 32), ("embed", "heads", "head_dim"))
    ```

    Attributes:
      equation: Input and kernel to output, as `jnp.einsum` spells it.
      shape: The kernel's shape.
      axes: The kernel's logical axis names, one for each dimension.
      init_scale: The kernel's entries are normal with variance `init_scale / fan_in`,
        where the fan-in is the product of *all* summed kernel dimensions.
      dtype: What is computed in.
      param_dtype: What the kernel is stored in.
    """

    equation: str
    shape: tuple[int, ...]
    axes: tuple[str | None, ...]
    init_scale: float = 1.0
    dtype: DTypeLike = jnp.float32
    param_dtype: DTypeLike = jnp.float32

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
        """Returns `einsum(equation, x, kernel)` in `dtype`."""
        check_sizes(self.equation, x.shape, self.shape)
        stddev = math.sqrt(self.init_scale / fan_in(self.equation, self.shape))
        kernel = self.param(
            "kernel",
            normal_init(stddev, self.axes),
            self.shape,
            self.param_dtype,
        )
        return jnp.einsum(
            self.equation, x.astype(self.dtype), kernel.astype(self.dtype)
        )


def kernel_letters(equation: str) -> str:
    """Returns the kernel's letters: `"dhk"` for `"btd,dhk->bthk"`."""
    inputs, arrow, _ = equation.partition("->")
    operands = inputs.split(",")
    if not arrow or len(operands) != 2:
        raise ValueError(
            f"equation={equation!r} is not of the form 'input,kernel->out'"
        )
    return operands[1].strip()


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
    letters = equation.partition(",")[0].strip()
    if len(letters) != len(input_shape):
        raise ValueError(f"{equation!r} takes {letters}, not a shape {input_shape}")
    sizes = dict(zip(letters, input_shape, strict=True))
    for letter, size in zip(kernel_letters(equation), kernel_shape, strict=True):
        if sizes.get(letter, size) != size:
            raise ValueError(
                f"{equation!r}: the input has {letter}={sizes[letter]}, "
                f"the kernel {letter}={size}"
            )
