"""One layer of a Transformer."""

from __future__ import annotations

from collections.abc import Callable

import flax.linen as nn
import jax
from jaxtyping import Array, Float, Integer

from fdlkit.nn.norm import RmsNorm


class Block(nn.Module):
    """Attention and a feed-forward layer, each on a normalised residual stream.

    Attributes:
      attention: Called with `[batch, time, embed]`, `segment_ids` and `positions`.
      mlp: Called with `[batch, time, embed]`.
      norm: Makes a normalisation when called with `name=`.
      dropout: The chance that a value which is to be added to the stream is left out,
        where a `dropout` random key is given.
    """

    attention: nn.Module
    mlp: nn.Module
    norm: Callable[..., nn.Module] = RmsNorm
    dropout: float = 0.0

    @nn.compact
    def __call__(
        self,
        x: Float[Array, "batch time embed"],
        *,
        segment_ids: Integer[Array, "batch time"] | None = None,
        positions: Integer[Array, "#batch time"] | None = None,
    ) -> Float[Array, "batch time embed"]:
        """Returns the stream after this layer, `[batch, time, embed]`, in its dtype."""
        residual = self.attention(
            self.norm(name="attention_norm")(x),
            segment_ids=segment_ids,
            positions=positions,
        )
        x = self._add(x, residual, name="attention_dropout")
        residual = self.mlp(self.norm(name="mlp_norm")(x))
        return self._add(x, residual, name="mlp_dropout")

    def _add(self, x: jax.Array, residual: jax.Array, *, name: str) -> jax.Array:
        if self.dropout:
            residual = nn.Dropout(
                self.dropout, deterministic=not self.has_rng("dropout"), name=name
            )(residual)
        x += residual.astype(x.dtype)
        return nn.with_logical_constraint(x, ("batch", "time", "embed"))
