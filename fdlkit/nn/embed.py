"""Token embeddings, and their transpose as the output layer."""

from __future__ import annotations

import math

import flax.linen as nn
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Float, Integer

from fdlkit.nn.einsum import contract
from fdlkit.nn.init import normal_init


class Embed(nn.Module):
    """A table of one vector for each token, read both ways.

    One node used as a model's `embed` and as its `output` is one table: tied.
    Two nodes are two tables.

    Attributes:
      vocab_size: The number of tokens.
      features: The width of a vector.
      init_scale: The length of a vector at the start. It is also the root mean square
        of an embedding, and the standard deviation of the logits of a normalised
        input, whatever the width: a first loss of about
        `log(vocab_size) + init_scale**2 / 2`.
      dtype: What is computed in.
      param_dtype: What the table is stored in.
    """

    vocab_size: int
    features: int
    init_scale: float = 0.5
    dtype: DTypeLike = jnp.float32
    param_dtype: DTypeLike = jnp.float32

    def setup(self) -> None:
        """Makes the table `[vocab, embed]`."""
        self.embedding = self.param(
            "embedding",
            normal_init(self.init_scale / math.sqrt(self.features), ("vocab", "embed")),
            (self.vocab_size, self.features),
            self.param_dtype,
        )

    def __call__(
        self, tokens: Integer[Array, "*b"]
    ) -> Float[Array, "*b {self.features}"]:
        """Returns the vectors of some tokens, times the root of their width.

        The factor lets one table serve both ends: short vectors for calm logits, and
        embeddings as large as what the layers add to them (Vaswani et al., 2017).

        Args:
          tokens: Integers in `[0, vocab_size)`, of any shape.

        Returns:
          `[..., embed]`. A token past the end gives NaN: a wrong tokenizer is not to
          train in silence.
        """
        # Rows are looked up in whole: cut by `fsdp`, they would have to be put together
        # after the lookup, once for each token instead of once for each row.
        table = nn.with_logical_constraint(
            self.embedding.astype(self.dtype), ("vocab", None)
        )
        vectors = jnp.take(table, tokens, axis=0, mode="fill")
        return vectors * math.sqrt(self.features)

    def attend(
        self, x: Float[Array, "batch time {self.features}"]
    ) -> Float[Array, "batch time {self.vocab_size}"]:
        """Returns every token's logit, in float32.

        Args:
          x: `[batch, time, embed]`.

        Returns:
          `[batch, time, vocab]`.
        """
        return contract(
            "btd,vd->btv",
            x.astype(self.dtype),
            self.embedding.astype(self.dtype),
            preferred_element_type=jnp.float32,
        )
