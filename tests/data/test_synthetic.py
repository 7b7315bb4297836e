"""A made-up language: deterministic, of known entropy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fdlkit.data import Pipeline, SyntheticTokens
from fdlkit.errors import UserError


def rows(source: SyntheticTokens, count: int = 64) -> np.ndarray:
    taken = source.take(np.arange(count), np.zeros(count, np.int64))
    return np.concatenate([taken["tokens"], taken["labels"][:, -1:]], axis=1)


def test_a_row_is_a_function_of_seed_split_and_index_alone():
    source = SyntheticTokens(vocab_size=50, length=20, seed=3)
    some = source.take(np.array([7, 1_000_000, 7]), np.array([0, 4, 9]))
    again = SyntheticTokens(vocab_size=50, length=20, seed=3)
    (one,) = again.take(np.array([7]), np.array([0]))["tokens"]
    np.testing.assert_array_equal(some["tokens"][[0, 2]], [one, one])
    np.testing.assert_array_equal(some["tokens"][:, 1:], some["labels"][:, :-1])
    others = {"seed": {"seed": 4}, "split": {"split": "eval"}}
    for changed in others.values():
        other = SyntheticTokens(**{"vocab_size": 50, "length": 20, "seed": 3} | changed)
        assert (rows(other) != rows(source)).any(axis=1).all()


def test_the_share_of_right_guesses_is_what_the_noise_leaves():
    source = SyntheticTokens(vocab_size=10, length=500, step=3, noise=0.2)
    tokens = rows(source, 200)
    assert tokens.min() == 0 and tokens.max() == 9
    right = np.mean(tokens[:, 1:] == (tokens[:, :-1] + 3) % 10)
    assert abs(right - (0.8 + 0.2 / 10)) < 0.005


@pytest.mark.parametrize("noise", [0.0, 0.3, 1.0])
def test_the_entropy_is_that_of_the_next_token(noise: float):
    source = SyntheticTokens(vocab_size=7, length=2000, noise=noise)
    tokens = rows(source, 100)
    follows = (tokens[:, 1:] - tokens[:, :-1]) % 7
    shares = np.bincount(follows.ravel(), minlength=7) / follows.size
    measured = -sum(share * math.log(share) for share in shares if share)
    assert abs(measured - source.entropy) < 0.01


def test_a_pipeline_of_it_has_the_specs_of_its_batches():
    source = SyntheticTokens(vocab_size=50, length=20)
    pipeline = Pipeline(source=source, batch_size=8)
    batch = next(pipeline.batches())
    for name, spec in pipeline.spec().items():
        assert (batch[name].shape, batch[name].dtype) == (spec.shape, spec.dtype)


@pytest.mark.parametrize(
    "wrong",
    [{"vocab_size": 0}, {"length": 0}, {"noise": 1.5}, {"split": "test"}],
    ids=str,
)
def test_a_language_that_is_none_is_refused(wrong):
    (name,) = wrong
    with pytest.raises(UserError, match=name):
        SyntheticTokens(**{"vocab_size": 50, "length": 20} | wrong)
