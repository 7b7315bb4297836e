"""Layers by scan and laid out: one stacked tree, the same numbers."""

from __future__ import annotations

import functools
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fdlkit.nn.mlp import Mlp
from fdlkit.nn.repeat import Repeat
from tests.nn.models import (
    HIDDEN,
    boxes,
    by_path,
    expect_close,
    expect_equal_bits,
    initial,
    logits,
    parameters,
    small_model,
    some_tokens,
)

SEGMENTS = {"segment_ids": np.repeat([[0, 1], [0, 0]], [5, 7], axis=1)}
BOTH = (True, False)


@functools.cache
def value_and_gradient(*, scan: bool = True, remat: str = "none") -> tuple[Any, Any]:
    """A scalar of the logits under dropout, and its gradient."""
    model = small_model(dropout=0.3, repeat={"scan": scan, "remat": remat})
    params = parameters(model, some_tokens())

    def value(params: Any) -> jax.Array:
        answers = model.apply(
            {"params": params},
            some_tokens(),
            rngs={"dropout": jax.random.key(3)},
            **SEGMENTS,
        )
        return (answers**2).mean()

    return jax.jit(jax.value_and_grad(value))(params)


def test_initial_values_are_equal_to_the_bit_by_scan_and_laid_out():
    by_scan, laid_out = (
        initial(small_model(repeat={"n": 3, "scan": scan}), some_tokens())
        for scan in BOTH
    )
    expect_equal_bits(by_scan, laid_out)
    first, second, third = by_scan["layers"]["block"]["mlp"]["up"]["kernel"]
    assert np.abs(first - second).max() > 0.01
    assert np.abs(second - third).max() > 0.01


def test_outputs_are_equal_to_the_bit_by_scan_and_laid_out():
    params = parameters(small_model(), some_tokens())
    by_scan, laid_out = (
        logits(small_model(repeat={"scan": scan}), params, some_tokens(), **SEGMENTS)
        for scan in BOTH
    )
    np.testing.assert_array_equal(by_scan, laid_out)


def test_dropout_is_equal_to_the_bit_and_gradients_nearly_by_scan_and_laid_out():
    by_scan, laid_out = (value_and_gradient(scan=scan) for scan in BOTH)
    expect_equal_bits(by_scan[0], laid_out[0])
    expect_close(by_scan[1], laid_out[1])
    assert all(np.abs(leaf).max() > 0 for leaf in jax.tree.leaves(by_scan[1]))


def test_layers_drop_different_values():
    class Ones(nn.Module):
        @nn.compact
        def __call__(self, x: jax.Array) -> jax.Array:
            drop = nn.Dropout(0.5, deterministic=not self.has_rng("dropout"))
            mask = drop(jnp.ones_like(x))
            self.sow("intermediates", "mask", mask)
            return x

    _, kept = Repeat(Ones(), 2).apply(
        {},
        jnp.zeros((1, 4, 16)),
        rngs={"dropout": jax.random.key(0)},
        mutable="intermediates",
    )
    first, second = kept["intermediates"]["block"]["mask"][0]
    assert (first != second).any()


def test_computing_again_changes_no_number():
    kept = value_and_gradient()
    expect_close(kept, value_and_gradient(remat="full"))
    expect_close(kept, value_and_gradient(scan=False, remat="dots_saveable"))


@pytest.mark.parametrize("scan", BOTH, ids=["scan", "laid out"])
def test_computing_again_keeps_less(scan: bool):
    params = parameters(small_model(), some_tokens())

    def residuals(remat: str) -> int:
        model = small_model(repeat={"scan": scan, "remat": remat})
        _, backward = jax.eval_shape(
            lambda params: jax.vjp(
                lambda params: model.apply({"params": params}, some_tokens()), params
            ),
            params,
        )
        return sum(leaf.size for leaf in jax.tree.leaves(backward))

    none, dots, full = map(residuals, ("none", "dots_saveable", "full"))
    assert full < dots < none


def test_an_unknown_policy_is_refused_with_the_known_ones():
    with pytest.raises(
        ValueError, match=r"remat='dots' is not one of none, full, .*dots"
    ):
        Repeat(Mlp(HIDDEN, HIDDEN), 2, remat="dots")


def test_no_layers_at_all_are_refused():
    with pytest.raises(ValueError, match="n=0"):
        Repeat(Mlp(HIDDEN, HIDDEN), 0)


def test_a_repeat_in_a_repeat_stacks_twice():
    inner = Repeat(Mlp(HIDDEN, HIDDEN), 3, axis_name="inner_layers")
    model = Repeat(inner, 2)
    x = np.ones((1, 4, HIDDEN), np.float32)
    kernel = by_path(boxes(model, x))["block/block/up/kernel"]
    assert kernel.names == ("layers", "inner_layers", "embed", "mlp")
    assert kernel.value.shape == (2, 3, HIDDEN, HIDDEN)
    params = parameters(model, x)
    layers = jax.tree.map(lambda leaf: leaf.reshape(6, *leaf.shape[2:]), params)
    flat = {"block": layers["block"]["block"]}
    np.testing.assert_allclose(
        logits(model, params, x), logits(Repeat(inner.block, 6), flat, x), rtol=1e-6
    )


def test_a_repeat_in_a_repeat_needs_an_axis_name_of_its_own():
    class Wrapped(nn.Module):
        parts: list[nn.Module]

        def __call__(self, x: jax.Array) -> jax.Array:
            return self.parts[0](x)

    inner = Repeat(Mlp(HIDDEN, HIDDEN), 3)
    with pytest.raises(ValueError, match=r"'layers' .* block\.parts\[0\]"):
        Repeat(Wrapped([inner]), 2)
