"""Layers of one's own."""

import flax.linen as nn
import jax.numpy as jnp
from jaxtyping import Array, Float

SCALE = 0.5  # of what is added to the stream
_NAMES = {"mix": SCALE}


def scaled(x: Float[Array, "batch time embed"]) -> Float[Array, "batch time embed"]:
    """A part of it."""
    return x * _NAMES["mix"]


def unused(x):
    """Nobody calls this."""
    return x


class Mixer(nn.Module):
    """Each token and the one before it, mixed."""

    width: int

    @nn.compact
    def __call__(self, x: Float[Array, "batch time embed"]):
        # Nothing comes before the first.
        before = jnp.pad(x, ((0, 0), (1, 0), (0, 0)))[:, :-1]
        y = nn.Dense(self.width)(jnp.concatenate([x, before], axis=-1))
        return x + scaled(nn.Dense(x.shape[-1])(nn.gelu(y)))

    def size(self):
        """Nobody asks."""
        return self.width
