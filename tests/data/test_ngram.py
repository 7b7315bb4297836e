"""N-gram models are proper distributions and learn what there is to learn."""

import math

import numpy as np
import pytest

from fdlkit.data import ngram_bits_per_byte
from fdlkit.data.ngram import fit_ngram


def stream(text):
    return np.frombuffer(b"\0" + text + b"\0", np.uint8)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_probabilities_sum_to_one_in_seen_and_unseen_contexts(order):
    model = fit_ngram(stream(b"the cat sat on the mat" * 20), order=order)
    contexts = np.array(
        [ord("t") * 256 + ord("h"), ord("q") * 256 + ord("t"), ord("q") * 257, 0]
    )
    for context in contexts % 256 ** (order - 1):
        everything = model.probabilities(np.full(256, context), np.arange(256))
        assert everything.min() > 0
        assert everything.sum() == pytest.approx(1, abs=1e-12)


def test_a_bigram_is_interpolated_as_the_formula_says():
    # In "0ab0aa0": a is followed by b once, a once, 0 once.
    tokens = np.array([0, 97, 98, 0, 97, 97, 0], np.uint8)
    model = fit_ngram(tokens, order=2)
    discount, uniform = 0.75, 1 / 256
    # Labels are a b 0 a a 0: three kinds in six.
    unigram_b = (1 - discount) / 6 + discount * 3 / 6 * uniform
    expected = (1 - discount) / 3 + discount * 3 / 3 * unigram_b
    (probability,) = model.probabilities(np.array([97]), np.array([98]))
    assert probability == pytest.approx(expected, rel=1e-12)


def test_longer_contexts_beat_shorter_ones_on_text_that_has_them():
    rng = np.random.default_rng(0)
    words = [b"alpha ", b"beta ", b"gamma ", b"delta ", b"epsilon "]

    def text(n):
        return stream(b"".join(words[i] for i in rng.integers(0, 5, n)))

    train, held_out = text(5000), text(500)
    bits = [ngram_bits_per_byte(train, held_out, order=n) for n in (1, 2, 3)]
    assert bits[0] > bits[1] > bits[2]
    # Five equally likely words, of 6 bytes at the mean, hold log2(5) bits each.
    entropy = math.log2(5) / np.mean([len(word) for word in words])
    assert entropy < bits[2] < 2 * entropy


def test_random_bytes_cannot_be_predicted():
    rng = np.random.default_rng(0)
    train, held_out = rng.integers(1, 256, (2, 50_000)).astype(np.uint8)
    assert ngram_bits_per_byte(train, held_out, order=1) > math.log2(255)
    assert ngram_bits_per_byte(train, held_out, order=1) < 8.01


def test_separators_cost_bits_but_count_no_bytes():
    train = stream(b"ab")
    one = ngram_bits_per_byte(train, np.array([0, 97, 98, 0]), order=1)
    none = ngram_bits_per_byte(train, np.array([0, 97, 98]), order=1)
    assert one > none


def test_the_first_tokens_have_separators_before_them():
    model = fit_ngram(np.array([0, 97, 98], np.uint8), order=3)
    assert model.counts[2][0, 97] == 1
    assert model.counts[2][97, 98] == 1


@pytest.mark.parametrize("order", [0, 4])
def test_other_orders_are_refused(order):
    with pytest.raises(ValueError, match=f"order={order}"):
        fit_ngram(stream(b"text"), order=order)
