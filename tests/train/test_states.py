"""Metrics' states: packed in a step, unpacked and merged on the host."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fdlkit.train.metrics import Metric
from fdlkit.train.states import merge_states, only_if, pack_states, results


@pytest.mark.parametrize(
    "leaf",
    [
        np.float32(1.5),
        np.arange(6, dtype=np.float32).reshape(2, 3),
        np.array([np.inf, -np.inf, 1e-38, 3e38], np.float32),
        np.array([-(2**31), 2**31 - 1, 2**24 + 1, -1, 0, 5], np.int32),
        np.array([2**32 - 1, 2**24 + 1, 0], np.uint32),
        np.array([-128, 127], np.int8),
        np.array([True, False]),
        jnp.array([1.5, -2.25], jnp.bfloat16),
        np.zeros((0, 3), np.float32),
    ],
    ids=lambda leaf: f"{leaf.dtype}{list(leaf.shape)}",
)
def test_a_leaf_comes_back_as_it_was(leaf):
    packed = jax.jit(pack_states)({"a": leaf, "b": [leaf]})
    assert packed.values.dtype == np.float32
    back = packed.unpack()
    for found in (back["a"], back["b"][0]):
        assert (found.dtype, found.shape) == (leaf.dtype, leaf.shape)
        np.testing.assert_array_equal(found, leaf)


def test_nothing_packs_to_nothing():
    assert jax.jit(pack_states)({}).unpack() == {}


def test_what_is_not_wanted_is_not_computed():
    calls = []

    @jax.jit
    def step(x, wanted):
        def compute():
            jax.debug.callback(lambda: calls.append(1))
            return {"sum": jnp.sum(x)}

        return only_if(wanted, lambda: pack_states(compute()))

    x = jnp.arange(4.0)
    assert step(x, False).unpack() == {"sum": 0}
    jax.effects_barrier()
    assert calls == []
    assert step(x, True).unpack() == {"sum": 6}
    jax.effects_barrier()
    assert calls == [1]


class Ratio(Metric):
    """A part of a whole."""

    def result(self, state):
        return float(state["part"] / state["whole"])


class Pair(Ratio):
    """Two numbers."""

    def result(self, state):
        return {"part": state["part"], "whole": state["whole"]}


def test_merged_states_are_of_all_rows_not_means_of_means():
    metrics = {"near": Ratio(), "both": Pair()}

    def of(part, whole):
        return {
            name: {"part": np.int32(part), "whole": np.int32(whole)} for name in metrics
        }

    batches = [of(10, 10), of(4, 10), of(0, 12)]
    total = None
    for batch in batches:
        total = merge_states(metrics, total, batch)
    assert results(metrics, total) == {
        "near": 14 / 32,
        "both/part": 14,
        "both/whole": 32,
    }
