"""The small layers: products, feed-forward, normalisation, tables."""

from __future__ import annotations

from typing import Any, get_args

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AbstractMesh, AxisType

from fdlkit.nn.einsum import Einsum, contract, fan_in
from fdlkit.nn.embed import Embed
from fdlkit.nn.mlp import Activation, Mlp
from fdlkit.nn.norm import LayerNorm, RmsNorm
from fdlkit.nn.positions import LearnedPositions
from tests.nn.models import initial, logits, parameters


def draws(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize(
    ("equation", "shape", "summed"),
    [
        ("btd,df->btf", (64, 32), 64),
        ("btd,dhk->bthk", (64, 4, 8), 64),
        ("bthk,hkd->btd", (4, 8, 64), 32),
    ],
)
def test_kernels_start_with_the_variance_of_all_that_is_summed(
    equation: str, shape: tuple[int, ...], summed: int
):
    assert fan_in(equation, shape) == summed
    layer = Einsum(equation, shape, tuple("abc"[: len(shape)]), init_scale=0.5)
    x = draws(1, 2, *shape[: len(equation.partition(",")[0]) - 2])
    kernel = initial(layer, x)["kernel"]
    assert kernel.shape == shape
    assert abs(kernel.var() * summed / 0.5 - 1) < 0.15
    assert abs(kernel.mean()) < 0.02


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("btd,df", (2, 3), ("a", "b")), "is not of the form"),
        (("xyd,df->xyf", (2, 3), ("a", "b")), "is not of the form"),
        (("btd,bdf->btf", (2, 2, 3), ("a", "b", "c")), "is not of the form"),
        (("btd,df->btf", (2, 3, 4), ("a", "b")), "a kernel of 2 axes"),
        (("btd,df->btf", (2, 3), ("a",)), "a kernel of 2 axes"),
    ],
)
def test_products_that_make_no_sense_are_refused_when_built(
    arguments: tuple[Any, ...], text: str
):
    with pytest.raises(ValueError, match=text):
        Einsum(*arguments)


def test_a_product_is_the_same_where_time_is_split():
    x, kernel = draws(4, 6, 8), draws(8, 2, 3, seed=1)
    want = jnp.einsum("btd,dhk->bthk", x, kernel)
    mesh = AbstractMesh((2, 4), ("data", "context"), axis_types=(AxisType.Auto,) * 2)
    rules = (("batch", "data"), ("time", "context"))

    def lowered() -> str:
        return (
            jax.jit(lambda x, kernel: contract("btd,dhk->bthk", x, kernel))
            .trace(x, kernel)
            .lower(lowering_platforms=("cpu",))
            .as_text()
        )

    np.testing.assert_allclose(
        contract("btd,dhk->bthk", x, kernel), want, rtol=1e-5, atol=1e-5
    )
    assert "24x8xf32" in lowered()
    jax.clear_caches()
    with jax.sharding.use_abstract_mesh(mesh), nn.logical_axis_rules(rules):
        assert "24x8xf32" not in lowered()


@pytest.mark.parametrize(
    ("activation", "function"),
    [
        ("gelu", lambda x: 0.5 * x * (1 + np.tanh(0.7978846 * (x + 0.044715 * x**3)))),
        ("silu", lambda x: x / (1 + np.exp(-x))),
        ("relu", lambda x: np.maximum(x, 0)),
    ],
)
@pytest.mark.parametrize("gated", [False, True], ids=["plain", "gated"])
def test_the_feed_forward_layer_is_what_its_formula_says(
    activation: Any, function: Any, gated: bool
):
    layer = Mlp(8, 12, activation=activation, gated=gated)
    x = draws(2, 3, 8)
    params = parameters(layer, x)
    up, down = params["up"]["kernel"], params["down"]["kernel"]
    if gated:
        hidden = function(x @ params["gate"]["kernel"]) * (x @ up)
    else:
        hidden = function(x @ up)
    np.testing.assert_allclose(
        logits(layer, params, x), hidden @ down, rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("activation", get_args(Activation))
def test_every_activation_that_the_type_names_is_taken(activation: Any):
    assert Mlp(8, 12, activation=activation).activation == activation


def test_an_unknown_activation_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="'swish' is not one of gelu, silu, relu"):
        Mlp(8, 12, activation="swish")  # type: ignore[arg-type]


@pytest.mark.parametrize("norm", [RmsNorm, LayerNorm])
def test_normalised_values_do_not_depend_on_the_inputs_scale(norm: type[nn.Module]):
    layer = norm()
    x = draws(2, 3, 64)
    params = {"scale": np.full(64, 2, np.float32)}
    answer = logits(layer, params, x)
    np.testing.assert_allclose(answer, logits(layer, params, 100 * x), rtol=1e-4)
    np.testing.assert_allclose((answer**2).mean(axis=-1), 4, rtol=1e-3)
    if norm is LayerNorm:
        np.testing.assert_allclose(answer.mean(axis=-1), 0, atol=1e-5)
        shifted = logits(layer, params, x + 3)
        np.testing.assert_allclose(answer, shifted, atol=1e-4)


@pytest.mark.parametrize("norm", [RmsNorm, LayerNorm])
def test_normalisation_is_in_float32_and_gives_back_the_inputs_dtype(
    norm: type[nn.Module],
):
    x = jnp.full((1, 1, 1024), 300, jnp.bfloat16).at[0, 0, ::2].multiply(-1)
    answer = norm().apply({"params": {"scale": jnp.ones(1024)}}, x)
    assert answer.dtype == jnp.bfloat16
    np.testing.assert_array_equal(np.abs(np.asarray(answer, np.float32)), 1)


def test_a_table_is_read_both_ways():
    layer = Embed(7, 4)
    tokens = np.array([[0, 6, 3]])
    params = parameters(layer, tokens)
    table = params["embedding"]
    vectors = layer.apply({"params": params}, tokens)
    np.testing.assert_array_equal(vectors, 2 * table[tokens])
    answer = layer.apply({"params": params}, vectors, method=Embed.attend)
    np.testing.assert_allclose(answer, 2 * table[tokens] @ table.T, rtol=1e-5)


def test_tables_start_at_one_scale_whatever_the_width():
    for features in (16, 256):
        tokens = np.arange(64)[None]
        embed, positions = Embed(64, features), LearnedPositions(64, features)
        for layer in (embed, positions):
            params = initial(layer, tokens)
            vectors = np.asarray(layer.apply({"params": params}, tokens))
            assert abs(np.sqrt((vectors**2).mean()) - 0.5) < 0.05
            lengths = np.linalg.norm(params["embedding"], axis=-1)
            assert abs(lengths.mean() - 0.5) < 0.05


def test_logits_are_summed_in_float32():
    layer = Embed(3, 4096, dtype=jnp.bfloat16)
    x = jnp.ones((1, 1, 4096), jnp.bfloat16)
    params = {"embedding": jnp.full((3, 4096), 1.0)}
    answer = layer.apply({"params": params}, x, method=Embed.attend)
    assert answer.dtype == jnp.float32
    np.testing.assert_array_equal(answer, 4096)


def test_a_position_past_the_table_gives_nan_and_not_a_wrong_vector():
    layer = LearnedPositions(4, 2)
    params = parameters(layer, np.arange(4)[None])
    answer = layer.apply({"params": params}, np.array([[3, 4]]))
    want = params["embedding"][3] * np.sqrt(np.float32(2))
    np.testing.assert_allclose(answer[0, 0], want, rtol=1e-6)
    assert np.isnan(answer[0, 1]).all()
