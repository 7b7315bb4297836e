"""Token embeddings, and their transpose as the output layer."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import flax.linen as nn
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Float, Integer

from fdlkit.nn.einsum import contract
from fdlkit.nn.init import normal_init, zeros_init


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
      scaled: Whether vectors that are looked up are multiplied by the root of their
        width, which lets one table serve both ends: short vectors for calm logits, and
        embeddings as large as what layers add to them (Vaswani et al., 2017).
      bias: Whether logits have a bias, `[vocab]`, zeros at the start.
      logit_cap: Logits are `logit_cap * tanh(logits / logit_cap)`, after the bias, so
        that none is larger (Gemma 2, 2024); None: as they are.
      embedding_init: Makes the table's first values instead of `init_scale`; one of
        `jax.nn.initializers`.
    """

    vocab_size: int
    features: int
    init_scale: float = 0.5
    dtype: DTypeLike = jnp.float32
    param_dtype: DTypeLike = jnp.float32
    scaled: bool = True
    bias: bool = False
    logit_cap: float | None = None
    embedding_init: Callable[..., Any] | None = None

    def setup(self) -> None:
        """Makes the table, `[vocab, embed]`."""
        self.embedding = self.param(
            "embedding",
            normal_init(
                self.init_scale / math.sqrt(self.features),
                ("vocab", "embed"),
                self.embedding_init,
            ),
            (self.vocab_size, self.features),
            self.param_dtype,
        )
        if self.bias:
            self.logit_bias = self.param(
                "bias", zeros_init(("vocab",)), (self.vocab_size,), self.param_dtype
            )

    def __call__(
        self, tokens: Integer[Array, "*b"]
    ) -> Float[Array, "*b {self.features}"]:
        """Returns the tokens' vectors.

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
        return vectors * math.sqrt(self.features) if self.scaled else vectors

    def attend(
        self, x: Float[Array, "batch time {self.features}"]
    ) -> Float[Array, "batch time {self.vocab_size}"]:
        """Returns every token's logit, in float32.

        Args:
          x: `[batch, time, embed]`.

        Returns:
          `[batch, time, vocab]`.
        """
        logits = contract(
            "btd,vd->btv",
            x.astype(self.dtype),
            self.embedding.astype(self.dtype),
            preferred_element_type=jnp.float32,
        )
        if self.bias:
            logits += self.logit_bias.astype(jnp.float32)
        if self.logit_cap is not None:
            logits = self.logit_cap * jnp.tanh(logits / self.logit_cap)
        return logits
