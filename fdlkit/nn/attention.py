"""Causal self-attention, multi-head or grouped-query."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name
from jax.typing import DTypeLike
from jaxtyping import Array, Float, Integer

from fdlkit.nn.einsum import Einsum
from fdlkit.nn.init import zeros_init
from fdlkit.nn.positions import Rotary

HEADS = ("batch", "time", "heads", "head_dim")
KV_HEADS = ("batch", "time", "kv_heads", "head_dim")


class SelfAttention(nn.Module):
    """Each token attends to itself and to earlier tokens of its own segment.

    Attributes:
      features: The width of input and output.
      num_heads: The number of query heads.
      num_kv_heads: The number of key and value heads; None: as many as query heads.
        With fewer, neighbouring query heads share one (grouped-query attention, Ainslie
        et al., 2023); 1 is multi-query attention.
      head_dim: The width of a head; None: `features // num_heads`.
      rotary: Turns queries and keys by their positions; None: no rotation.
      out_init_scale: The variance of the output kernel, times its fan-in.
      dtype: What is computed in; softmax is in float32 whatever it is.
      param_dtype: What the kernels are stored in.
      bias: Whether all projections have a bias.
      per_dim_scale: Whether queries are multiplied by a learned vector, `[head_dim]`,
        that all heads share: `softplus(v) / softplus(0)`, with `v` zeros at the start
        (Pax).
      logit_cap: Scores are `logit_cap * tanh(scores / logit_cap)`, so that none is
        larger (Gemma 2, 2024); None: as they are.
      kernel_init: Makes the first values of the query, key and value kernels; one of
        `jax.nn.initializers`. None: normal with variance 1 / fan-in.
      out_kernel_init: The same for the output kernel, instead of `out_init_scale`.

    Raises:
      ValueError: Heads do not fit the features or each other, or are of an odd width
        while `rotary` is given.
    """

    features: int
    num_heads: int
    num_kv_heads: int | None = None
    head_dim: int | None = None
    rotary: Callable[[jax.Array, jax.Array], jax.Array] | None = Rotary()
    out_init_scale: float = 1.0
    dtype: DTypeLike = jnp.float32
    param_dtype: DTypeLike = jnp.float32
    bias: bool = False
    per_dim_scale: bool = False
    logit_cap: float | None = None
    kernel_init: Callable[..., Any] | None = None
    out_kernel_init: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        """Refuses heads that do not fit together."""
        super().__post_init__()
        if self.num_heads < 1:
            raise ValueError(f"num_heads={self.num_heads}: it must be one at least")
        if self.num_kv_heads is not None and self.num_kv_heads < 1:
            raise ValueError(
                f"num_kv_heads={self.num_kv_heads}: it must be one at least"
            )
        if self.head_dim is not None and self.head_dim < 1:
            raise ValueError(f"head_dim={self.head_dim}: it must be one at least")
        if self.head_dim is None and self.features % self.num_heads:
            raise ValueError(
                f"features={self.features} is not a multiple of "
                f"num_heads={self.num_heads}"
            )
        if self.num_kv_heads is not None and self.num_heads % self.num_kv_heads:
            raise ValueError(
                f"num_heads={self.num_heads} is not a multiple of "
                f"num_kv_heads={self.num_kv_heads}"
            )
        if self.rotary is not None and self._width_of_a_head() % 2:
            raise ValueError(
                f"head_dim={self._width_of_a_head()} is odd: "
                "rotary positions turn pairs"
            )

    def _width_of_a_head(self) -> int:
        return self.head_dim or self.features // self.num_heads

    @nn.compact
    def __call__(
        self,
        x: Float[Array, "batch time embed"],
        *,
        segment_ids: Integer[Array, "batch time"] | None = None,
        positions: Integer[Array, "#batch time"] | None = None,
    ) -> Float[Array, "batch time embed"]:
        """Returns what each token gathers.

        Args:
          x: `[batch, time, embed]`.
          segment_ids: Integers, `[batch, time]`; None: a row is one segment.
          positions: Integers, `[batch, time]` or `[1, time]`; None: 0, 1, 2, ….

        Returns:
          `[batch, time, embed]`.
        """
        head_dim = self._width_of_a_head()
        num_kv_heads = self.num_kv_heads or self.num_heads

        def project(name: str, num_heads: int, heads: str) -> jax.Array:
            y = Einsum(
                "btd,dhk->bthk",
                (self.features, num_heads, head_dim),
                ("embed", heads, "head_dim"),
                dtype=self.dtype,
                param_dtype=self.param_dtype,
                bias=self.bias,
                kernel_init=self.kernel_init,
                name=name,
            )(x)
            return checkpoint_name(y, f"{name}_proj")

        query = project("query", self.num_heads, "heads")
        key = project("key", num_kv_heads, "kv_heads")
        value = project("value", num_kv_heads, "kv_heads")
        if self.rotary is not None:
            if positions is None:
                positions = jnp.arange(x.shape[1])[None]
            query = self.rotary(query, positions)
            key = self.rotary(key, positions)
        if self.per_dim_scale:
            scale = self.param(
                "per_dim_scale",
                zeros_init(("head_dim",)),
                (head_dim,),
                self.param_dtype,
            )
            query *= (jax.nn.softplus(scale) / math.log(2)).astype(query.dtype)
        query = nn.with_logical_constraint(query, HEADS)
        key = nn.with_logical_constraint(key, KV_HEADS)
        value = nn.with_logical_constraint(value, KV_HEADS)
        gathered = self.gather(query, key, value, segment_ids=segment_ids)
        gathered = nn.with_logical_constraint(gathered, HEADS)
        gathered = checkpoint_name(gathered, "context")
        y = Einsum(
            "bthk,hkd->btd",
            (self.num_heads, head_dim, self.features),
            ("heads", "head_dim", "embed"),
            init_scale=self.out_init_scale,
            dtype=self.dtype,
            param_dtype=self.param_dtype,
            bias=self.bias,
            kernel_init=self.out_kernel_init,
            name="out",
        )(gathered)
        return checkpoint_name(y, "out_proj")

    def gather(
        self,
        query: jax.Array,
        key: jax.Array,
        value: jax.Array,
        *,
        segment_ids: jax.Array | None = None,
        mask: jax.Array | None = None,
    ) -> jax.Array:
        """Returns what each query gathers; arguments are `causal_attention`'s.

        It is a method so that keys and values of earlier calls can be put in.
        """
        return causal_attention(
            query,
            key,
            value,
            segment_ids=segment_ids,
            mask=mask,
            logit_cap=self.logit_cap,
        )


def causal_attention(
    query: jax.Array,
    key: jax.Array,
    value: jax.Array,
    *,
    segment_ids: jax.Array | None = None,
    logit_cap: float | None = None,
    mask: jax.Array | None = None,
) -> jax.Array:
    """Returns softmax(query · key / sqrt(head_dim)) · value over what may be seen.

    Args:
      query: `[batch, time, heads, head_dim]`.
      key: `[batch, source, kv_heads, head_dim]`; `kv_heads` divides `heads`.
      value: As `key`.
      segment_ids: Integers, `[batch, time]`; None: a row is one segment.
      logit_cap: See `SelfAttention`.
      mask: Which keys each query may see, `[batch or 1, time, source]` bool; None:
        those up to its own, `source` being `time`.

    Returns:
      `[batch, time, heads, head_dim]`, in the query's dtype.
    """
    batch, time, num_heads, head_dim = query.shape
    num_kv_heads = key.shape[2]
    # Heads before time: the two products are then plain batched ones, and XLA on CPU
    # moves a few megabytes once where it would move the scores several times.
    grouped = query.reshape(
        batch, time, num_kv_heads, num_heads // num_kv_heads, head_dim
    ).transpose(0, 2, 3, 1, 4)
    key = key.transpose(0, 2, 1, 3)
    value = value.transpose(0, 2, 1, 3)
    scores = jnp.einsum(
        "bngtk,bnsk->bngts",
        grouped * (1 / math.sqrt(head_dim)),
        key,
        preferred_element_type=jnp.float32,
    )
    if logit_cap is not None:
        scores = logit_cap * jnp.tanh(scores / logit_cap)
    if mask is None:
        mask = jnp.tril(jnp.ones((time, time), bool))[None]
    if segment_ids is not None:
        mask &= segment_ids[:, :, None] == segment_ids[:, None, :]
    # A finite floor: a row of `-inf` would make the gradient NaN.
    scores = jnp.where(mask[:, None, None], scores, jnp.finfo(jnp.float32).min)
    weights = jax.nn.softmax(scores, axis=-1).astype(value.dtype)
    gathered = jnp.einsum("bngts,bnsk->bngtk", weights, value)
    return gathered.transpose(0, 3, 1, 2, 4).reshape(batch, time, num_heads, head_dim)
