"""A decoder-only Transformer language model."""

from __future__ import annotations

from collections.abc import Callable

import flax.linen as nn
import jax.numpy as jnp
from jaxtyping import Array, Float, Integer

from fdlkit.nn.norm import RmsNorm
from fdlkit.nn.positions import segment_positions


class Transformer(nn.Module, kw_only=True):
    """Embeds tokens, runs them through layers, and says what may come next.

    The order of the fields is part of the parameters' names: Flax names a module that
    two fields hold by the first of them, so fields that may share one come first.

    Attributes:
      vocab_size: The number of tokens.
      hidden: The width of the residual stream.
      embed: Tokens `[batch, time]` to `[batch, time, embed]`.
      output: Has `attend`: `[batch, time, embed]` to logits. The very module that is
        `embed`: the two are tied.
      positions: Positions `[batch, time]` to vectors that are added to the embeddings;
        None: attention knows positions by itself (`SelfAttention.rotary`).
      layers: `[batch, time, embed]`, `segment_ids=` and `positions=` to the same shape.
      norm: Makes the last normalisation when called with `name=`.
    """

    vocab_size: int
    hidden: int
    embed: nn.Module
    output: nn.Module
    positions: nn.Module | None = None
    layers: nn.Module
    norm: Callable[..., nn.Module] = RmsNorm

    @nn.compact
    def __call__(
        self,
        tokens: Integer[Array, "batch time"],
        *,
        segment_ids: Integer[Array, "batch time"] | None = None,
        positions: Integer[Array, "#batch time"] | None = None,
    ) -> Float[Array, "batch time {self.vocab_size}"]:
        """Returns the logits of each next token.

        Args:
          tokens: Integers in `[0, vocab_size)`, `[batch, time]`.
          segment_ids: Integers, `[batch, time]`, for rows packed with several
            documents; attention stays within one. None: a row is one document.
          positions: Integers, `[batch, time]`. None: counted within each segment.

        Returns:
          `[batch, time, vocab]`, in float32.

        Raises:
          ValueError: A part does not fit `hidden` or `vocab_size`.
        """
        if positions is None:
            positions = (
                jnp.arange(tokens.shape[1])[None]
                if segment_ids is None
                else segment_positions(segment_ids)
            )
        x = self.embed(tokens)
        expect("model.embed", x.shape[-1], "hidden", self.hidden)
        if self.positions is not None:
            x += self.positions(positions).astype(x.dtype)
        x = nn.with_logical_constraint(x, ("batch", "time", "embed"))
        x = self.layers(x, segment_ids=segment_ids, positions=positions)
        logits = self.output.attend(self.norm(name="norm")(x))
        expect("model.output", logits.shape[-1], "vocab_size", self.vocab_size)
        return nn.with_logical_constraint(
            logits.astype(jnp.float32), ("batch", "time", "vocab")
        )


def expect(part: str, got: int, name: str, wanted: int) -> None:
    """Refuses a part of another width than the model says."""
    if got != wanted:
        raise ValueError(f"{part} gives {got} values a token, but {name}={wanted}")
