"""From logits to a token: temperature, top-k, top-p, and the draw."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp

from fdlkit.errors import UserError


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sampler:
    """How the next token is chosen.

    Logits are divided by the temperature, all but the `top_k` are left out, then of
    what is left all but the nucleus of `top_p`; one of the rest is drawn.

    Attributes:
      temperature: 1: as likely as the model says; lower: safer; 0: always the most
        likely.
      top_k: Out of how many of the most likely is drawn; None: of all.
      top_p: Out of the fewest of the most likely that have this much of the
        probability together (Holtzman et al., 2020); None: of all.

    Raises:
      UserError: One of them is out of its range.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < float("inf"):
            raise UserError(
                f"temperature={self.temperature}: it is a number from 0, which always "
                "takes the most likely token"
            )
        if self.top_k is not None and self.top_k < 1:
            raise UserError(f"top_k={self.top_k}: it is a number of tokens, at least 1")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise UserError(
                f"top_p={self.top_p}: it is a probability, above 0 and at most 1"
            )

    def __call__(self, logits: jax.Array, keys: jax.Array) -> jax.Array:
        """Returns a token for each row, `[batch]` int32.

        Args:
          logits: `[batch, vocab]`.
          keys: A random key for each row, `[batch]`.
        """
        if self.temperature == 0:
            return jnp.argmax(logits, axis=-1).astype(jnp.int32)
        logits = tempered(logits.astype(jnp.float32), self.temperature)
        if self.top_k is not None:
            logits = only_top_k(logits, self.top_k)
        if self.top_p is not None:
            logits = only_top_p(logits, self.top_p)
        return jax.vmap(jax.random.categorical)(keys, logits).astype(jnp.int32)


def tempered(logits: jax.Array, temperature: float) -> jax.Array:
    """Returns `logits / temperature`, up to a constant: the largest is 0.

    So no temperature is too low for the numbers' range.

    Args:
      logits: `[..., vocab]`.
      temperature: Above 0.
    """
    return (logits - jnp.max(logits, axis=-1, keepdims=True)) / temperature


def only_top_k(logits: jax.Array, k: int) -> jax.Array:
    """Returns the logits with all but the k largest as `-inf`, `[..., vocab]`.

    Never more than k are left: of equal ones the first.
    """
    if k >= logits.shape[-1]:
        return logits
    _, largest = jax.lax.top_k(logits, k)
    return jnp.where(marked(largest, logits.shape[-1]), logits, -jnp.inf)


def only_top_p(logits: jax.Array, p: float) -> jax.Array:
    """Returns the logits with all but the nucleus as `-inf`, `[..., vocab]`.

    The nucleus is the fewest of the most likely tokens that have the probability `p`
    or more together; of equally likely ones the first. It has one token at least.
    """
    if p >= 1:  # by rounding, fewer than all may seem to have it together
        return logits
    vocab = logits.shape[-1]
    ordered, order = jax.lax.top_k(logits, vocab)
    up_to = jnp.cumsum(jax.nn.softmax(ordered, axis=-1), axis=-1)
    before = jnp.roll(up_to, 1, axis=-1).at[..., 0].set(0.0)
    inside = jnp.where(before < p, order, vocab)
    return jnp.where(marked(inside, vocab), logits, -jnp.inf)


def marked(indices: jax.Array, size: int) -> jax.Array:
    """Which of `size` places are named by indices, `[..., n]` to `[..., size]` bool.

    Indices past the end name none.
    """
    flat = indices.reshape(-1, indices.shape[-1])
    rows = jnp.arange(flat.shape[0])[:, None]
    places = jnp.zeros((flat.shape[0], size), bool)
    places = places.at[rows, flat].set(True, mode="drop")
    return places.reshape(*indices.shape[:-1], size)
