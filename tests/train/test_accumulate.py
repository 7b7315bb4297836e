"""Microbatches: which rows are in them, where they live, what they add up to."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fdlkit.train.accumulate import cut_rows, join_rows, sum_over


def test_a_microbatch_has_every_nth_row():
    rows = np.arange(24).reshape(12, 2)
    cut = cut_rows({"a": jnp.asarray(rows)}, 3)["a"]
    assert cut.shape == (3, 4, 2)
    for i in range(3):
        np.testing.assert_array_equal(cut[i], rows[i::3])
    np.testing.assert_array_equal(join_rows(cut, 4), rows)


def test_what_has_no_rows_is_not_put_together():
    stacked = {"rows": jnp.zeros((3, 4, 2)), "scalars": jnp.zeros(3)}
    joined = join_rows(stacked, 4)
    assert {n: a.shape for n, a in joined.items()} == {"rows": (12, 2), "scalars": (3,)}


def test_sums_are_a_plain_loops_and_what_one_carries_the_next_is_given():
    parts = jnp.asarray(np.random.default_rng(0).normal(size=(4, 5)), jnp.float32)

    def terms(carried, part, number):
        return {"s": part.sum(), "v": part * carried}, carried + 1, number * 10

    like = {"s": jnp.float32(0), "v": jax.ShapeDtypeStruct((5,), jnp.float32)}
    sums, carried, kept = sum_over(terms, jnp.float32(1), parts, like=like)
    np.testing.assert_allclose(sums["s"], np.sum(parts), rtol=1e-5)
    expected = sum(np.asarray(p) * (i + 1) for i, p in enumerate(parts))
    np.testing.assert_allclose(sums["v"], expected, rtol=1e-5)
    assert float(carried) == 5
    assert kept.tolist() == [0, 10, 20, 30]


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_narrow_terms_are_added_up_in_float32(dtype):
    parts = jnp.ones((1024, 1), dtype)

    def terms(carried, part, number):
        return part, carried, None

    like = jax.ShapeDtypeStruct((1,), dtype)
    sums, _, _ = sum_over(terms, None, parts, like=like)
    # In bfloat16 itself 256 + 1 is 256.
    assert (sums.dtype, float(sums[0])) == (dtype, 1024.0)
