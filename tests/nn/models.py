"""Small models for the tests of this room, and what is read off them."""

from __future__ import annotations

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from fdlkit.nn.attention import SelfAttention
from fdlkit.nn.block import Block
from fdlkit.nn.embed import Embed
from fdlkit.nn.mlp import Mlp
from fdlkit.nn.repeat import Repeat
from fdlkit.nn.transformer import Transformer

VOCAB, HIDDEN, WIDTH, LAYERS = 19, 16, 24, 2


def small_model(
    *,
    tied: bool = False,
    dtype: Any = jnp.float32,
    dropout: float = 0.0,
    attention: dict[str, Any] | None = None,
    mlp: dict[str, Any] | None = None,
    repeat: dict[str, Any] | None = None,
    **model: Any,
) -> Transformer:
    """A model of two narrow layers; keywords change its parts."""
    embed = Embed(VOCAB, HIDDEN, dtype=dtype)
    block = Block(
        SelfAttention(HIDDEN, **{"num_heads": 4, "dtype": dtype} | (attention or {})),
        Mlp(HIDDEN, WIDTH, dtype=dtype, **(mlp or {})),
        dropout=dropout,
    )
    return Transformer(
        vocab_size=VOCAB,
        hidden=HIDDEN,
        embed=embed,
        output=embed if tied else Embed(VOCAB, HIDDEN, dtype=dtype),
        layers=Repeat(block, **{"n": LAYERS} | (repeat or {})),
        **model,
    )


def some_tokens(batch: int = 2, time: int = 12, *, seed: int = 0) -> np.ndarray:
    """Random tokens, `[batch, time]`."""
    return np.random.default_rng(seed).integers(0, VOCAB, (batch, time))


def initial(model: nn.Module, *inputs: Any, **named: Any) -> Any:
    """A model's parameters as it makes them."""
    variables = jax.jit(model.init)(jax.random.key(0), *inputs, **named)
    return nn.meta.unbox(variables["params"])


def boxes(model: nn.Module, *inputs: Any, **named: Any) -> Any:
    """The shapes and logical axis names of a model's parameters."""
    return jax.eval_shape(model.init, jax.random.key(0), *inputs, **named)["params"]


def parameters(model: nn.Module, *inputs: Any, **named: Any) -> Any:
    """Some parameters of a model's shapes, without a compilation."""
    draw = np.random.default_rng(0).normal
    return jax.tree.map(
        lambda leaf: draw(0, leaf.shape[-1] ** -0.5, leaf.shape).astype(leaf.dtype),
        nn.meta.unbox(boxes(model, *inputs, **named)),
    )


def logits(model: nn.Module, params: Any, tokens: Any, **named: Any) -> np.ndarray:
    """A model's answer, compiled."""
    return np.asarray(jax.jit(model.apply)({"params": params}, tokens, **named))


def by_path(tree: Any) -> dict[str, Any]:
    """A tree's leaves by `layers/block/mlp/up/kernel`."""
    boxed = jax.tree_util.tree_leaves_with_path(
        tree, is_leaf=lambda leaf: isinstance(leaf, nn.Partitioned)
    )
    return {
        jax.tree_util.keystr(path, simple=True, separator="/"): leaf
        for path, leaf in boxed
    }


def expect_equal_bits(one: Any, other: Any) -> None:
    """Two trees have the same paths and the same bits at each."""
    assert by_path(one).keys() == by_path(other).keys()
    for path, leaf in by_path(one).items():
        np.testing.assert_array_equal(leaf, by_path(other)[path], err_msg=path)


def expect_close(
    one: Any, other: Any, *, rtol: float = 2e-5, atol: float = 1e-6
) -> None:
    """Two trees have the same paths and, at each, numbers that differ by rounding."""
    assert by_path(one).keys() == by_path(other).keys()
    for path, leaf in by_path(one).items():
        np.testing.assert_allclose(
            leaf, by_path(other)[path], rtol=rtol, atol=atol, err_msg=path
        )
