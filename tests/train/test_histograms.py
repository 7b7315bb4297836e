"""Histograms: counted on the devices, merged exactly, drawn by TensorBoard."""

from __future__ import annotations

import json
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fdlkit.errors import UserError
from fdlkit.train.histograms import Bars, Histogram
from fdlkit.train.writers import TensorBoard
from tests.train.test_writers import events_in
from tests.train.toys import make_trainer


def bars(*arrays, **fields) -> Bars:
    metric = Histogram(values="params", **fields)
    state = None
    for array in arrays:
        more = metric({"params": jnp.asarray(array, jnp.float32), "batch": {}})
        state = more if state is None else metric.merge(state, more)
    return metric.result(state)


@settings(max_examples=30)
@given(
    st.lists(
        st.floats(-1e6, 1e6, width=32, allow_subnormal=False), min_size=20, max_size=20
    )
)
def test_every_number_is_in_the_bar_that_its_limits_say(numbers):
    found = bars(numbers)
    assert sum(found.counts) == found.count == len(numbers)
    assert found.limits == sorted(found.limits)
    inside = [x for x in numbers if abs(x) > 2.0**-39 or x == 0]
    lows = [-math.inf, *found.limits[:-1]]
    for low, high, count in zip(lows, found.limits, found.counts, strict=True):
        # What is close to a limit may fall on either side of it, by the logarithm.
        sure = sum(low < x * 0.999 <= high and low < x * 1.001 <= high for x in inside)
        assert count >= sure


def test_the_sums_are_those_of_the_numbers():
    x = np.random.default_rng(0).normal(size=1000).astype(np.float32)
    found = bars(x)
    assert found.total == pytest.approx(x.sum(), rel=1e-4)
    assert found.squares == pytest.approx((x * x).sum(), rel=1e-4)
    assert found.summary()["rms"] == pytest.approx(1.0, abs=0.1)
    assert found.summary()["p05"] < -1 < 1 < found.summary()["p95"]
    assert found.least <= x.min() and x.max() <= found.most


def test_batches_merge_to_the_histogram_of_all():
    x = np.random.default_rng(0).normal(size=100).astype(np.float32)
    whole, parts = bars(x), bars(x[:13], x[13:])
    assert (whole.limits, whole.counts) == (parts.limits, parts.counts)


def test_numbers_that_are_not_finite_are_left_out():
    found = bars([1.0, np.nan, np.inf, -np.inf])
    assert found.count == 1 and found.total == 1.0


def test_a_tree_is_one_histogram_or_one_for_each_array():
    tree = {"a": jnp.ones(3), "b": {"c": jnp.zeros(2)}}
    context = {"params": tree, "batch": {}}
    one = Histogram(values="params")
    assert one.result(one(context)).count == 5
    each = Histogram(values="params", each=True)
    found = each.result(each(context))
    assert {name: b.count for name, b in found.items()} == {"a": 3, "b/c": 2}


def test_a_place_without_arrays_is_refused():
    with pytest.raises(UserError, match="there is no array"):
        jax.eval_shape(lambda: Histogram(values="params")({"params": {}, "batch": {}}))


def test_a_run_draws_what_it_is_asked_for(tmp_path):
    trainer = make_trainer(
        train_metrics={
            "gradients": Histogram(values="grads"),
            "parameters": Histogram(values="params", each=True),
        },
        writers=[TensorBoard()],
        num_train_steps=8,
        log_every=4,
    )
    record = {"config.txt": "model = Mlp\nmodel.width = 16\n"}
    trainer.train(tmp_path, record)
    drawn, texts = {}, {}
    for event in events_in(tmp_path / "tensorboard"):
        for value in event.summary.value:
            if value.HasField("histo"):
                drawn.setdefault(value.tag, []).append((event.step, value.histo.num))
            elif value.HasField("tensor"):
                texts[value.tag.removesuffix("/text_summary")] = value.tensor.string_val
    assert [step for step, _ in drawn["train/gradients"]] == [4, 8]
    assert drawn["train/gradients"][0][1] == 4 * 16 + 16 + 16 + 1
    assert drawn["train/parameters/Dense_0/kernel"][0] == (4, 64.0)
    assert texts["config/model.width"] == [b"16"]
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert json.loads(lines[0])["train/gradients"]["count"] == 97
