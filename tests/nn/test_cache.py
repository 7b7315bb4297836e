"""With keys and values kept, a token at a time gives what the whole row gives."""

from __future__ import annotations

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fdlkit.nn import repeat as repeat_module
from fdlkit.nn.attention import SelfAttention, causal_attention
from fdlkit.nn.block import Block
from fdlkit.nn.cache import CACHE, NoCacheError, extending, filling
from fdlkit.nn.embed import Embed
from fdlkit.nn.mlp import Mlp
from fdlkit.nn.norm import LayerNorm
from fdlkit.nn.positions import LearnedPositions, segment_positions
from fdlkit.nn.repeat import Repeat
from fdlkit.nn.transformer import Transformer
from tests.nn.models import (
    HIDDEN,
    by_path,
    logits,
    parameters,
    small_model,
    some_tokens,
)

LEARNED = {"attention": {"rotary": None}, "positions": LearnedPositions(32, HIDDEN)}
VARIANTS: dict[str, dict[str, Any]] = {
    "rotary, grouped queries, tied": {"attention": {"num_kv_heads": 2}, "tied": True},
    "learned positions, laid out": LEARNED
    | {"norm": LayerNorm, "repeat": {"scan": False}},
    "one key for all, computed again": {
        "attention": {"num_kv_heads": 1},
        "repeat": {"remat": "full"},
    },
}
TIME, READ, LENGTH = 12, 5, 16
SEGMENTS = np.repeat([[1, 2, 3], [1, 1, 2]], [3, 4, 5], axis=1)


def programs_of(model: nn.Module) -> tuple[Any, Any]:
    """A model's compiled passes over the first tokens, and over those that follow."""

    @jax.jit
    def begin(params: Any, tokens: Any, named: Any) -> Any:
        with filling(LENGTH):
            return model.apply({"params": params}, tokens, mutable=[CACHE], **named)

    @jax.jit
    def go_on(params: Any, cache: Any, tokens: Any, slots: Any, named: Any) -> Any:
        variables = {"params": params, CACHE: cache}
        with extending(slots):
            return model.apply(variables, tokens, mutable=[CACHE], **named)

    return begin, go_on


def step_by_step(
    model: nn.Module, params: Any, tokens: np.ndarray, **named: np.ndarray
) -> tuple[np.ndarray, Any]:
    """Logits of each token: the first read at once, the others one by one."""
    begin, go_on = programs_of(model)

    def part(first: int, end: int) -> dict[str, np.ndarray]:
        return {name: array[:, first:end] for name, array in named.items()}

    answer, kept = begin(params, tokens[:, :READ], part(0, READ))
    answers = [answer]
    for t in range(READ, tokens.shape[1]):
        slots = np.full(len(tokens), t, np.int32)
        token = tokens[:, t : t + 1]
        answer, kept = go_on(params, kept[CACHE], token, slots, part(t, t + 1))
        answers.append(answer)
    return np.concatenate(answers, axis=1), kept[CACHE]


def places(rows: int = 2) -> np.ndarray:
    return np.broadcast_to(np.arange(TIME), (rows, TIME))


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_a_token_at_a_time_gives_what_the_whole_row_gives(variant: dict[str, Any]):
    model, tokens = small_model(**variant), some_tokens(2, TIME)
    params = parameters(model, tokens)
    whole = logits(model, params, tokens)
    kept, _ = step_by_step(model, params, tokens, positions=places())
    np.testing.assert_allclose(kept, whole, rtol=2e-5, atol=2e-6)
    assert (kept.argmax(-1) == whole.argmax(-1)).all()


def test_a_packed_row_goes_on_within_its_segments():
    model, tokens = small_model(**LEARNED), some_tokens(2, TIME)
    params = parameters(model, tokens)
    whole = logits(model, params, tokens, segment_ids=SEGMENTS)
    named = {
        "segment_ids": SEGMENTS,
        "positions": np.asarray(segment_positions(jnp.asarray(SEGMENTS))),
    }
    kept, _ = step_by_step(model, params, tokens, **named)
    np.testing.assert_allclose(kept, whole, rtol=2e-5, atol=2e-6)


def test_rows_that_are_padded_to_one_length_go_on_each_at_its_own_end():
    model, tokens = small_model(), some_tokens(2, TIME)
    params = parameters(model, tokens)
    whole = logits(model, params, tokens)
    padded = tokens[:, :READ].copy()
    padded[1, 3:] = 0  # the second row's text has 3 tokens as yet
    begin, go_on = programs_of(model)
    _, kept = begin(params, padded, {"positions": places()[:, :READ]})
    slots = np.array([READ, 3], np.int32)
    for t in range(4):
        at = slots + t
        token = tokens[[0, 1], at][:, None]
        positions = {"positions": at[:, None]}
        answer, kept = go_on(params, kept[CACHE], token, at, positions)
        np.testing.assert_allclose(
            answer[:, 0], whole[[0, 1], at], rtol=2e-5, atol=2e-6
        )


def test_what_is_kept_is_keys_and_values_of_each_layer_in_what_they_are_computed_in():
    model = small_model(attention={"num_kv_heads": 2}, dtype=jnp.bfloat16)
    tokens = some_tokens(2, READ)
    with filling(LENGTH) as called:
        _, kept = jax.eval_shape(
            lambda params: model.apply({"params": params}, tokens, mutable=[CACHE]),
            parameters(model, tokens),
        )
    assert {path: (a.shape, a.dtype) for path, a in by_path(kept[CACHE]).items()} == {
        f"layers/block/attention/{name}": ((2, 2, LENGTH, 2, 4), jnp.bfloat16)
        for name in ("key", "value")
    }
    assert called >= {Transformer, Repeat, Block, SelfAttention, Mlp, Embed}


def test_a_repeat_in_a_repeat_keeps_what_each_of_its_layers_sees():
    block = Block(SelfAttention(HIDDEN, 4), Mlp(HIDDEN, HIDDEN))
    inner = Repeat(block, 2, axis_name="inner_layers")
    model = small_model().clone(layers=Repeat(inner, 2))
    tokens = some_tokens(1, TIME)
    params = parameters(model, tokens)
    kept, cache = step_by_step(model, params, tokens, positions=places(1))
    np.testing.assert_allclose(
        kept, logits(model, params, tokens), rtol=5e-5, atol=5e-6
    )
    assert by_path(cache)["layers/block/block/attention/key"].shape[:2] == (2, 2)


class Twice(nn.Module):
    """Two layers that are one."""

    attention: nn.Module

    @nn.compact
    def __call__(self, x: jax.Array, **inputs: Any) -> jax.Array:
        return x + self.attention(x + self.attention(x, **inputs), **inputs)


class Borrowing(nn.Module):
    """Layers that all call the attention which their `Repeat` gives them."""

    @nn.compact
    def __call__(self, x: jax.Array, attention: Any, **inputs: Any) -> jax.Array:
        return x + attention(x, **inputs)


@pytest.mark.parametrize(
    ("layers", "why"),
    [
        (Twice(SelfAttention(HIDDEN, 4)), "layers/attention is called twice"),
        (
            Repeat(Borrowing(), 2, shared=(SelfAttention(HIDDEN, 4),)),
            "layers share SelfAttention",
        ),
    ],
    ids=["tied", "shared"],
)
def test_an_attention_without_a_place_of_its_own_is_refused(layers, why):
    model, tokens = small_model().clone(layers=layers), some_tokens(1, READ)
    params = parameters(model, tokens)
    with filling(LENGTH), pytest.raises(NoCacheError, match=why):
        jax.eval_shape(lambda: model.apply({"params": params}, tokens, mutable=[CACHE]))


def test_an_attention_that_gathers_in_its_own_way_still_does_with_a_cache():
    class Capped(SelfAttention):
        def gather(self, query, key, value, **named):
            return causal_attention(jnp.tanh(query) * 3, key, value, **named)

    model = small_model().clone(
        layers=Repeat(Block(Capped(HIDDEN, 4), Mlp(HIDDEN, HIDDEN)), 2)
    )
    tokens = some_tokens(1, TIME)
    params = parameters(model, tokens)
    kept, _ = step_by_step(model, params, tokens, positions=places(1))
    whole = logits(model, params, tokens)
    np.testing.assert_allclose(kept, whole, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("scan", [True, False], ids=["scan", "laid out"])
def test_training_has_nothing_of_it(scan: bool, monkeypatch):
    """Its programs are those of a model which cannot keep anything."""
    tokens = some_tokens()

    def programs() -> tuple[str, str]:
        model = small_model(dropout=0.1, repeat={"scan": scan, "remat": "full"})
        params = parameters(model, tokens)

        def value(params: Any) -> jax.Array:
            rngs = {"dropout": jax.random.key(0)}
            answers = model.apply(
                {"params": params}, tokens, segment_ids=SEGMENTS, rngs=rngs
            )
            return (answers**2).mean()

        return (
            jax.jit(jax.grad(value)).lower(params).as_text(),
            jax.jit(model.init).lower(jax.random.key(0), tokens).as_text(),
        )

    as_it_is = programs()
    with_axes = repeat_module.nn.scan

    def scan_without(*args: Any, variable_axes: Any, **named: Any) -> Any:
        axes = {name: axis for name, axis in variable_axes.items() if name != CACHE}
        assert axes != variable_axes
        return with_axes(*args, variable_axes=axes, **named)

    def gather(gather: Any, args: Any, named: Any, call: Any) -> Any:
        bare = isinstance(call.module, SelfAttention) and call.method_name == "gather"
        return (causal_attention if bare else gather)(*args, **named)

    monkeypatch.setattr(repeat_module.nn, "scan", scan_without)
    with nn.intercept_methods(gather):
        assert programs() == as_it_is
