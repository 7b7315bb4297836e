"""What a model may have besides: biases, caps, scales, positions, starts."""

from __future__ import annotations

import math
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fdlkit.check.jaxprs import equations
from fdlkit.nn.attention import SelfAttention, causal_attention
from fdlkit.nn.einsum import Einsum
from fdlkit.nn.embed import Embed
from fdlkit.nn.mlp import Mlp
from fdlkit.nn.norm import LayerNorm
from fdlkit.nn.positions import LearnedPositions, SinusoidalPositions
from fdlkit.nn.remat import KEPT_NAMES
from tests.nn.models import (
    HIDDEN,
    boxes,
    by_path,
    expect_close,
    initial,
    logits,
    parameters,
    small_model,
    some_tokens,
)
from tests.nn.test_attention import draws

START = jax.nn.initializers.constant(0.25)


def shapes_and_axes(module: nn.Module, *inputs: Any) -> dict[str, Any]:
    found = by_path(boxes(module, *inputs))
    return {path: (box.value.shape, box.names) for path, box in found.items()}


def test_biases_have_the_axes_that_their_kernels_give_to_the_output():
    x = draws(2, 3, 8)
    attention = shapes_and_axes(SelfAttention(8, 4, bias=True), x)
    assert attention["query/bias"] == ((4, 2), ("heads", "head_dim"))
    assert attention["key/bias"] == ((4, 2), ("kv_heads", "head_dim"))
    assert attention["out/bias"] == ((8,), ("embed",))
    mlp = shapes_and_axes(Mlp(8, 12, bias=True), x)
    assert mlp["up/bias"] == ((12,), ("mlp",))
    assert mlp["down/bias"] == ((8,), ("embed",))


def test_a_bias_is_added_and_starts_at_zero():
    layer = Einsum("btd,dhk->bthk", (4, 3, 2), ("embed", "heads", None), bias=True)
    plain = Einsum("btd,dhk->bthk", (4, 3, 2), ("embed", "heads", None))
    x = draws(2, 5, 4)
    params = initial(layer, x)
    np.testing.assert_array_equal(logits(layer, params, x), logits(plain, params, x))
    params["bias"] = draws(3, 2, seed=1)
    np.testing.assert_allclose(
        logits(layer, params, x), logits(plain, params, x) + params["bias"], rtol=1e-5
    )


def test_what_a_module_starts_from_can_be_given():
    x = draws(2, 3, 8)
    attention = SelfAttention(
        8, 2, kernel_init=START, out_kernel_init=jax.nn.initializers.ones
    )
    starts = {
        path: np.unique(leaf).tolist()
        for path, leaf in by_path(initial(attention, x)).items()
    }
    assert starts == {
        "query/kernel": [0.25],
        "key/kernel": [0.25],
        "value/kernel": [0.25],
        "out/kernel": [1.0],
    }
    tokens = some_tokens()
    for module, given in (
        (Mlp(8, 4, kernel_init=START), x),
        (Embed(19, 8, embedding_init=START), tokens),
        (LearnedPositions(12, 8, embedding_init=START), tokens),
    ):
        values = [np.unique(leaf) for leaf in jax.tree.leaves(initial(module, given))]
        assert {float(v) for value in values for v in value} == {0.25}


def test_scores_are_capped_before_the_mask():
    query, key, value = (draws(1, 6, 2, 4, seed=seed) * 9 for seed in range(3))
    got = causal_attention(query, key, value, logit_cap=2.0)
    for t, h in np.ndindex(6, 2):
        scores = key[0, : t + 1, h] @ query[0, t, h] / math.sqrt(4)
        weights = np.exp(2.0 * np.tanh(scores / 2.0))
        want = weights / weights.sum() @ value[0, : t + 1, h]
        np.testing.assert_allclose(got[0, t, h], want, rtol=1e-4, atol=1e-5)
    assert np.abs(got - causal_attention(query, key, value)).max() > 0.1


def test_a_learned_scale_of_queries_starts_at_one_and_is_shared_by_the_heads():
    scaled, plain = SelfAttention(8, 2, per_dim_scale=True), SelfAttention(8, 2)
    x = draws(2, 5, 8)
    params = initial(scaled, x)
    assert params["per_dim_scale"].shape == (4,)
    np.testing.assert_allclose(
        logits(scaled, params, x), logits(plain, params, x), rtol=1e-5, atol=1e-6
    )
    # softplus(v) = 2 ln 2: queries, and so scores, are twice as large.
    params["per_dim_scale"] = np.full(4, math.log(3), np.float32)
    twice = {**params, "query": {"kernel": params["query"]["kernel"] * 2}}
    np.testing.assert_allclose(
        logits(scaled, params, x), logits(plain, twice, x), rtol=1e-5, atol=1e-6
    )


def attended(module: Embed, params: Any, x: np.ndarray) -> np.ndarray:
    return np.asarray(module.apply({"params": params}, x, method=Embed.attend))


def test_logits_have_a_bias_and_are_capped_after_it():
    table = Embed(19, 8, bias=True, logit_cap=3.0)
    assert shapes_and_axes(table, some_tokens())["bias"] == ((19,), ("vocab",))
    params = {"embedding": draws(19, 8), "bias": draws(19, seed=1) * 5}
    x = draws(2, 3, 8, seed=2) * 4
    want = 3.0 * np.tanh((x @ params["embedding"].T + params["bias"]) / 3.0)
    np.testing.assert_allclose(attended(table, params, x), want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("module", [Embed(19, 8), LearnedPositions(19, 8)], ids=repr)
def test_what_is_looked_up_is_the_tables_where_it_is_not_scaled(module: nn.Module):
    params = {"embedding": draws(19, 8)}
    tokens = some_tokens()
    plain = logits(module.copy(scaled=False), params, tokens)
    np.testing.assert_array_equal(plain, params["embedding"][tokens])
    np.testing.assert_allclose(
        logits(module, params, tokens), plain * math.sqrt(8), rtol=1e-6
    )


def test_a_norm_can_have_a_bias_and_store_its_scale_less_one():
    x = draws(2, 3, 8) * 3 + 1
    norm = LayerNorm(bias=True, unit_offset=True)
    params = initial(norm, x)
    assert {float(v) for leaf in params.values() for v in leaf} == {0.0}
    wanted = (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True)
    np.testing.assert_allclose(logits(norm, params, x), wanted, rtol=1e-4, atol=1e-5)
    params = {"scale": draws(8, seed=1), "bias": draws(8, seed=2)}
    np.testing.assert_allclose(
        logits(norm, params, x),
        wanted * (1 + params["scale"]) + params["bias"],
        rtol=1e-4,
        atol=1e-5,
    )


@pytest.mark.parametrize("features", [8, 7])
def test_sinusoidal_positions_are_waves_of_geometric_lengths(features: int):
    positions = np.array([[0, 1, 5, 700]])
    got = logits(SinusoidalPositions(features, longest=100.0), {}, positions)
    waves = features // 2
    for t, position in enumerate(positions[0]):
        for i in range(waves):
            angle = position * 100.0 ** (-i / (waves - 1))
            np.testing.assert_allclose(got[0, t, i], math.sin(angle), atol=1e-4)
            np.testing.assert_allclose(got[0, t, waves + i], math.cos(angle), atol=1e-4)
    assert got.shape == (1, 4, features)
    assert features % 2 == 0 or not got[..., -1].any()


def test_a_model_with_sinusoidal_positions_knows_where_a_token_stands():
    model = small_model(
        attention={"rotary": None}, positions=SinusoidalPositions(HIDDEN)
    )
    plain = small_model(attention={"rotary": None})
    tokens = np.zeros((1, 6), int)
    params = parameters(model, tokens)
    assert by_path(params).keys() == by_path(parameters(plain, tokens)).keys()
    for other, differ in ((model, True), (plain, False)):
        answers = logits(other, params, tokens)[0]
        assert (np.abs(answers - answers[:1]).max() > 1e-3) == differ


def gradient_of(remat: str, **options: Any) -> Any:
    model = small_model(repeat={"remat": remat}, **options)
    tokens = some_tokens()

    def total(params: Any) -> jax.Array:
        return jnp.square(model.apply({"params": params}, tokens)).sum()

    return jax.grad(total), parameters(model, tokens)


def products(remat: str) -> int:
    """Matrix products in the program of a gradient."""
    gradient, params = gradient_of(remat)
    program = jax.make_jaxpr(gradient)(params)
    return sum(eqn.primitive.name == "dot_general" for eqn in equations(program))


def test_a_policy_by_names_computes_again_what_it_does_not_name_and_nothing_else():
    # Of a layer's eight products the backward pass never needs the last one again.
    again = {name: products(name) - products("none") for name in KEPT_NAMES}
    assert again == {
        "save_nothing": 7,
        "save_context_and_out_proj": 5,
        "save_dot_except_logits_ffn1": 2,
    }


@pytest.mark.parametrize("remat", KEPT_NAMES)
def test_a_policy_by_names_changes_no_gradient(remat: str):
    gradient, params = gradient_of(remat)
    plain, _ = gradient_of("none")
    expect_close(jax.jit(gradient)(params), jax.jit(plain)(params))
