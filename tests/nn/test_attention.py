"""Self-attention: its law, its heads, its refusals."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fdlkit.nn.attention import SelfAttention, causal_attention
from fdlkit.nn.positions import Rotary, segment_positions
from tests.nn.models import boxes, by_path, logits, parameters

BATCH, TIME, HEADS, HEAD_DIM = 2, 7, 4, 6
FEATURES = HEADS * HEAD_DIM


def draws(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def plain_attention(
    query: Any, key: Any, value: Any, segment_ids: Any = None
) -> np.ndarray:
    """The textbook's loops, in float64."""
    answer = np.zeros(query.shape)
    group = query.shape[2] // key.shape[2]
    for b, t, h in np.ndindex(query.shape[:3]):
        seen = [
            s
            for s in range(t + 1)
            if segment_ids is None or segment_ids[b, s] == segment_ids[b, t]
        ]
        keys = key[b, seen, h // group].astype(np.float64)
        scores = keys @ query[b, t, h] / np.sqrt(query.shape[3])
        weights = np.exp(scores - scores.max())
        answer[b, t, h] = weights / weights.sum() @ value[b, seen, h // group]
    return answer


@pytest.mark.parametrize("kv_heads", [1, 2, 4])
@pytest.mark.parametrize("packed", [False, True], ids=["whole", "packed"])
def test_attention_is_what_the_textbook_says(kv_heads: int, packed: bool):
    query = draws(BATCH, TIME, HEADS, HEAD_DIM)
    key = draws(BATCH, TIME, kv_heads, HEAD_DIM, seed=1)
    value = draws(BATCH, TIME, kv_heads, HEAD_DIM, seed=2)
    segment_ids = np.repeat([[3, 1], [0, 1]], [3, 4], axis=1) if packed else None
    got = causal_attention(query, key, value, segment_ids=segment_ids)
    want = plain_attention(query, key, value, segment_ids)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)


def test_softmax_is_computed_in_float32_whatever_the_dtype():
    query = jnp.ones((1, 2048, 1, 2), jnp.bfloat16)
    value = jnp.ones((1, 2048, 1, 2), jnp.bfloat16)
    answer = causal_attention(query, query, value)
    assert answer.dtype == jnp.bfloat16
    # A bfloat16 sum of ones stops at 256: the weights would add up to far more than 1.
    np.testing.assert_allclose(np.asarray(answer, np.float32), 1, rtol=0.01)


def test_gradients_are_finite_where_a_token_sees_itself_alone():
    query, key, value = (draws(1, 3, 1, 2, seed=seed) for seed in range(3))
    segment_ids = np.array([[1, 2, 3]])
    gradient = jax.grad(
        lambda query: causal_attention(query, key, value, segment_ids=segment_ids).sum()
    )(query)
    np.testing.assert_allclose(gradient, 0, atol=1e-6)


def test_as_many_key_heads_as_query_heads_is_multi_head_attention():
    grouped = SelfAttention(FEATURES, HEADS, num_kv_heads=HEADS)
    whole = SelfAttention(FEATURES, HEADS)
    x = draws(BATCH, TIME, FEATURES)
    params = parameters(whole, x)
    np.testing.assert_array_equal(logits(grouped, params, x), logits(whole, params, x))


def test_grouped_queries_equal_repeated_key_and_value_heads():
    x = draws(BATCH, TIME, FEATURES)
    grouped = SelfAttention(FEATURES, HEADS, num_kv_heads=2)
    params = parameters(grouped, x)
    repeated = {
        name: {"kernel": np.repeat(kernel["kernel"], 2, axis=1)}
        for name, kernel in params.items()
        if name in ("key", "value")
    }
    np.testing.assert_allclose(
        logits(grouped, params, x),
        logits(SelfAttention(FEATURES, HEADS), {**params, **repeated}, x),
        rtol=1e-4,
        atol=1e-5,
    )


def test_a_head_may_have_a_width_of_its_own():
    attention = SelfAttention(features=10, num_heads=3, head_dim=8)
    shapes = {
        path: box.value.shape
        for path, box in by_path(boxes(attention, draws(1, 2, 10))).items()
    }
    assert shapes == {
        "query/kernel": (10, 3, 8),
        "key/kernel": (10, 3, 8),
        "value/kernel": (10, 3, 8),
        "out/kernel": (3, 8, 10),
    }


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            {"features": 250, "num_heads": 8},
            "features=250 is not a multiple of num_heads=8",
        ),
        (
            {"features": 24, "num_heads": 6, "num_kv_heads": 4},
            "num_heads=6 is not a multiple of num_kv_heads=4",
        ),
        ({"features": 24, "num_heads": 0}, "num_heads=0: it must be one at least"),
        (
            {"features": 24, "num_heads": 2, "num_kv_heads": 0},
            "num_kv_heads=0: it must be one at least",
        ),
        (
            {"features": 24, "num_heads": 8},
            "head_dim=3 is odd: rotary positions turn pairs",
        ),
    ],
)
def test_heads_that_do_not_fit_are_refused_when_built(
    arguments: dict[str, int], text: str
):
    with pytest.raises(ValueError, match=f"^{text}$"):
        SelfAttention(**arguments)


def test_an_input_of_another_width_is_refused():
    with pytest.raises(ValueError, match="the input has d=9, the kernel d=8"):
        boxes(SelfAttention(8, 2), draws(1, 3, 9))


@settings(max_examples=20, deadline=None)
@given(
    first=st.integers(0, 200),
    second=st.integers(0, 200),
    shift=st.integers(1, 500),
    base=st.sampled_from([100.0, 10_000.0, 500_000.0]),
)
def test_rotated_scores_depend_on_the_distance_alone(
    first: int, second: int, shift: int, base: float
):
    rotary = Rotary(base)
    query, key = draws(1, 1, 1, 8), draws(1, 1, 1, 8, seed=1)

    def score(query_position: int, key_position: int) -> float:
        one = rotary(query, np.array([[query_position]]))
        other = rotary(key, np.array([[key_position]]))
        return float((np.asarray(one, np.float64) * np.asarray(other)).sum())

    near = score(first, second)
    assert abs(near - score(first + shift, second + shift)) < 1e-3
    assert abs(score(first, first) - float((query * key).sum())) < 1e-3


def test_rotation_keeps_lengths_and_tells_positions_apart():
    x = draws(1, 1, 1, 8).repeat(5, axis=1)
    rotated = np.asarray(Rotary()(x, np.arange(5)[None]))
    np.testing.assert_array_equal(rotated[:, 0], x[:, 0])
    np.testing.assert_allclose(
        np.linalg.norm(rotated, axis=-1), np.linalg.norm(x, axis=-1), rtol=1e-5
    )
    distances = np.linalg.norm(rotated[0, :, None] - rotated[0, None], axis=(-1, -2))
    assert (distances[~np.eye(5, dtype=bool)] > 0.1).all()


def test_only_differences_of_positions_matter_to_rotary_attention():
    attention = SelfAttention(FEATURES, HEADS)
    x = draws(1, TIME, FEATURES)
    params = parameters(attention, x)
    run = jax.jit(
        lambda positions: attention.apply({"params": params}, x, positions=positions)
    )
    counted = run(np.arange(TIME)[None])
    np.testing.assert_allclose(
        counted, run(np.arange(TIME)[None] + 40), rtol=1e-3, atol=1e-4
    )
    assert np.abs(counted - run(np.arange(TIME)[None] * 3)).max() > 1e-2


@given(st.lists(st.lists(st.integers(0, 3), min_size=9, max_size=9), min_size=1))
@settings(max_examples=25, deadline=None)
def test_positions_count_from_zero_in_every_segment(segment_ids: list[list[int]]):
    want = []
    for row in segment_ids:
        places: list[int] = []
        for t, segment in enumerate(row):
            places.append(places[-1] + 1 if t and row[t - 1] == segment else 0)
        want.append(places)
    np.testing.assert_array_equal(segment_positions(jnp.array(segment_ids)), want)
