"""Which tokens may be drawn, and how often, against arithmetic in 64 bits."""

from __future__ import annotations

import hypothesis
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdlkit.errors import UserError
from fdlkit.train.sampling import Sampler, only_top_k, only_top_p, tempered

VOCAB = 9
# Whole numbers among them, so that many are equal.
LOGITS = st.lists(
    st.one_of(st.integers(-3, 3), st.floats(-20, 20, width=32)),
    min_size=VOCAB,
    max_size=VOCAB,
).map(lambda values: np.array(values, np.float32) + 0.0)  # -0.0 equals 0.0


def softmax(logits: np.ndarray) -> np.ndarray:
    values = np.exp(logits.astype(np.float64) - logits.max())
    return values / values.sum()


def left(logits: jax.Array) -> set[int]:
    return set(np.flatnonzero(np.asarray(logits) > -np.inf).tolist())


@hypothesis.settings(max_examples=40)
@given(LOGITS, st.integers(1, VOCAB + 2))
def test_top_k_leaves_the_k_largest_and_never_more(logits, k):
    answer = np.asarray(only_top_k(logits, k))
    kept = left(answer)
    assert len(kept) == min(k, VOCAB)
    out = set(range(VOCAB)) - kept
    assert all(logits[i] >= logits[j] for i in kept for j in out)
    # Of equal ones the first.
    assert all(i < j for i in kept for j in out if logits[i] == logits[j])
    np.testing.assert_array_equal(answer[list(kept)], logits[list(kept)])


@hypothesis.settings(max_examples=40)
@given(LOGITS, st.floats(0.01, 1.0))
def test_the_nucleus_has_the_probability_and_no_smaller_one_does(logits, p):
    kept = left(only_top_p(logits, p))
    likely = softmax(logits)
    assert kept
    mass = likely[list(kept)].sum()
    rounding = 1e-5
    assert mass >= p - rounding
    if len(kept) > 1:
        assert mass - likely[list(kept)].min() < p + rounding
    out = set(range(VOCAB)) - kept
    assert all(logits[i] >= logits[j] for i in kept for j in out)
    assert all(i < j for i in kept for j in out if logits[i] == logits[j])


@hypothesis.settings(max_examples=40)
@given(LOGITS, st.integers(1, VOCAB), st.floats(0.01, 1.0))
def test_a_nucleus_is_of_what_top_k_has_left(logits, k, p):
    few = only_top_k(logits, k)
    assert left(only_top_p(few, p)) <= left(few)


@hypothesis.settings(max_examples=40)
@given(LOGITS, st.floats(1e-30, 100))
def test_a_temperature_divides_up_to_a_constant(logits, temperature):
    answer = np.asarray(tempered(logits, temperature), np.float64)
    wanted = (logits.astype(np.float64) - logits.max()) / temperature
    in_range = wanted > -1e30
    np.testing.assert_allclose(answer[in_range], wanted[in_range], rtol=1e-5)
    assert answer.max() == 0
    assert (answer[~in_range] < -1e29).all()


@hypothesis.settings(max_examples=40)
@given(LOGITS, st.integers(0, 1000), st.sampled_from([0.0, 1e-30, 1e-6]))
def test_towards_temperature_zero_the_most_likely_token_is_drawn(
    logits, seed, temperature
):
    keys = jax.random.split(jax.random.key(seed), 1)
    token = int(Sampler(temperature=temperature)(jnp.asarray(logits)[None], keys)[0])
    best = np.flatnonzero(logits == logits.max())
    near = np.flatnonzero(logits > logits.max() - 1e-4)
    # Of equal ones zero itself takes the first; nearly equal ones share the draw.
    assert token == best[0] if temperature == 0 else token in near


def draws(sampler: Sampler, logits: np.ndarray, n: int = 20_000) -> np.ndarray:
    keys = jax.random.split(jax.random.key(7), n)
    rows = jnp.broadcast_to(jnp.asarray(logits), (n, len(logits)))
    tokens = np.asarray(jax.jit(sampler)(rows, keys))
    return np.bincount(tokens, minlength=len(logits)) / n


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_tokens_are_drawn_as_often_as_they_are_likely(temperature):
    logits = np.array([2.0, 0.0, 1.0, -1.0, 1.5], np.float32)
    often = draws(Sampler(temperature=temperature), logits)
    np.testing.assert_allclose(often, softmax(logits / temperature), atol=0.015)


def test_what_is_left_out_is_never_drawn_and_the_rest_in_proportion():
    logits = np.log(np.array([0.4, 0.3, 0.2, 0.1], np.float32))
    often = draws(Sampler(top_k=3, top_p=0.75), logits)
    # Of the three 0.9 is left, of which the first two have 7 / 9.
    np.testing.assert_allclose(often, [4 / 7, 3 / 7, 0, 0], atol=0.015)


def test_rows_draw_by_their_own_keys():
    logits = jnp.zeros((2, 50))
    one, two = jax.random.split(jax.random.key(0))
    first = Sampler()(logits, jnp.stack([one, two]))
    swapped = Sampler()(logits, jnp.stack([two, one]))
    assert first.tolist() == swapped.tolist()[::-1]
    assert first[0] != first[1]


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ({"temperature": -0.1}, "temperature=-0.1: it is a number from 0"),
        ({"temperature": float("nan")}, "temperature=nan"),
        ({"temperature": float("inf")}, "temperature=inf"),
        ({"top_k": 0}, "top_k=0: it is a number of tokens, at least 1"),
        ({"top_p": 0.0}, "top_p=0.0: it is a probability, above 0 and at most 1"),
        ({"top_p": 1.5}, "top_p=1.5"),
    ],
)
def test_what_is_out_of_range_is_refused(named, why):
    with pytest.raises(UserError, match=why):
        Sampler(**named)
