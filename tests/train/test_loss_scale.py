"""Loss scales against a plain loop, and what they are for."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fdlkit.errors import UserError
from fdlkit.train.loss_scale import DynamicLossScale, LossScale, unscaled


def test_a_dynamic_scale_grows_and_shrinks_as_a_plain_loop_says():
    scale = DynamicLossScale(initial=8.0, interval=3, smallest=1.0, largest=64.0)
    finite = np.random.default_rng(0).random(300) < 0.8
    factor, run, expected = 8.0, 0, []
    for good in finite:
        run = run + 1 if good else 0
        if not good:
            factor = max(factor / 2, 1.0)
        elif run == 3:
            factor, run = min(factor * 2, 64.0), 0
        expected.append(factor)
    kept, found = scale.begin(), []
    step = jax.jit(scale.next)
    for good in finite:
        kept = step(kept, jnp.bool_(good))
        found.append(float(scale.factor(kept)))
    assert found == expected
    assert {1.0, 64.0} <= set(found)


def test_only_a_dynamic_scale_that_is_not_the_smallest_can_shrink():
    scale = DynamicLossScale(initial=2.0, smallest=1.0)
    kept = scale.begin()
    assert bool(scale.can_shrink(kept))
    assert not bool(scale.can_shrink(scale.next(kept, jnp.bool_(False))))
    assert not bool(LossScale().can_shrink(LossScale().begin()))


def test_a_gradient_that_float16_rounds_to_zero_survives_scaled():
    def loss(w, factor):
        small = jnp.float16(1e-3) * (jnp.float16(1e-3) * w.astype(jnp.float16))
        return small.astype(jnp.float32) * 1e-3 * factor

    w = jnp.float32(1.0)
    lost = jax.grad(loss)(w, jnp.float32(1))
    factor = LossScale(scale=2.0**15).factor(None)
    found = unscaled(jax.grad(loss)(w, factor), factor)
    assert float(lost) == 0.0
    assert float(found) == pytest.approx(1e-9, rel=0.01)
    assert found.dtype == jnp.float32


def test_a_power_of_two_is_taken_off_exactly():
    grads = {"w": jnp.asarray(np.random.default_rng(0).normal(size=100), jnp.float32)}
    scaled = jax.tree.map(lambda g: g * 2.0**15, grads)
    np.testing.assert_array_equal(
        unscaled(scaled, jnp.float32(2.0**15))["w"], grads["w"]
    )


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: LossScale(scale=0.0), "positive and finite"),
        (lambda: LossScale(scale=float("inf")), "positive and finite"),
        (lambda: DynamicLossScale(initial=0.5), "not between smallest=1"),
        (lambda: DynamicLossScale(largest=float("inf")), "positive and finite"),
        (lambda: DynamicLossScale(interval=0), "interval counts steps"),
        (lambda: DynamicLossScale(shrinkage=1.0), "shrinkage is between 0 and 1"),
        (lambda: DynamicLossScale(growth=0.5), "growth is 1 or more"),
    ],
)
def test_numbers_that_make_no_scale_are_refused(make, text):
    with pytest.raises(UserError, match=text):
        make()
