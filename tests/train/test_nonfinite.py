"""Counting steps that are not finite."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from fdlkit.errors import UserError
from fdlkit.train.nonfinite import SkipNonfinite, count_skips, if_finite, no_skips


def test_skips_are_counted_in_the_window_in_a_row_and_in_all():
    finite = np.random.default_rng(0).random(100) < 0.6
    skipped = no_skips()
    for step, good in enumerate(finite):
        new_window = step % 7 == 0
        skipped = count_skips(
            skipped, jnp.bool_(good), new_window=jnp.bool_(new_window)
        )
        begin = step // 7 * 7
        last_good = np.flatnonzero(finite[: step + 1])
        in_a_row = step - last_good[-1] if last_good.size else step + 1
        assert skipped.tolist() == [
            np.sum(~finite[begin : step + 1]),
            in_a_row,
            np.sum(~finite[: step + 1]),
        ]


def test_a_step_that_is_not_finite_leaves_every_bit():
    old = {"w": jnp.array([-0.0, 1e-40, 3.0]), "n": jnp.int32(4)}
    new = {"w": jnp.array([np.nan, np.inf, 1.0]), "n": jnp.int32(5)}
    kept = if_finite(jnp.bool_(False), new, old)
    for name, array in old.items():
        assert np.asarray(kept[name]).tobytes() == np.asarray(array).tobytes()
    assert int(if_finite(jnp.bool_(True), new, old)["n"]) == 5


def test_at_least_one_step_may_be_skipped():
    with pytest.raises(UserError, match="most_in_a_row=0"):
        SkipNonfinite(most_in_a_row=0)
