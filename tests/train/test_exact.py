"""Sums that are rounded once, at their end."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fdlkit.train.exact import ExactSum, exact_ratio, exact_sum

UNIT = Fraction(1, 1 << 180)
FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)
INTEGERS = st.integers(-(2**31), 2**31 - 1)


@given(st.lists(FLOATS))
def test_a_sum_of_float32_is_the_sum_of_the_fractions(numbers):
    total = exact_sum(np.asarray(numbers, np.float32))
    assert total.units * UNIT == sum(map(Fraction, numbers), Fraction(0))
    assert total.beyond == 0.0


@given(st.lists(INTEGERS))
def test_a_sum_of_int32_is_the_sum_of_the_integers(numbers):
    total = exact_sum(np.asarray(numbers, np.int32))
    assert total.units * UNIT == sum(numbers)


def test_millions_of_the_largest_numbers_are_added_without_rounding():
    count = 2**21 + 7
    largest = np.finfo(np.float32).max
    total = exact_sum(np.full(count, 2**31 - 1, np.int32))
    assert total.units * UNIT == count * (2**31 - 1)
    total = exact_sum(np.full(count, largest, np.float32))
    assert total.units * UNIT == count * Fraction(float(largest))


def test_what_is_not_finite_is_kept_apart():
    total = exact_sum(np.asarray([1.5, np.inf, 2.0], np.float32))
    assert (total.units * UNIT, total.beyond) == (Fraction(7, 2), np.inf)
    assert np.isnan(exact_sum(np.asarray([np.inf, -np.inf], np.float32)).beyond)


@given(st.lists(FLOATS), st.lists(FLOATS))
def test_a_ratio_has_the_same_digits_of_numbers_and_of_sums_of_parts(above, below):
    whole = [np.asarray(numbers, np.float32) for numbers in (above, below)]
    parts = [exact_sum(x[::2]) + exact_sum(x[1::2]) for x in whole]
    assert exact_ratio(*whole) == exact_ratio(*parts)
    if float(parts[1]):
        sums = [float(sum(map(Fraction, numbers))) for numbers in (above, below)]
        assert exact_ratio(*whole) == sums[0] / sums[1]


def test_a_ratio_says_of_what_it_is_not_a_number():
    one, inf = np.ones(1, np.float32), np.full(1, np.inf, np.float32)
    mixed = np.asarray([np.inf, -np.inf], np.float32)
    assert exact_ratio(inf, one) == np.inf
    assert np.isnan(exact_ratio(mixed, one))
    assert np.isnan(exact_ratio(one, inf))
    assert exact_ratio(one, 0 * one) == exact_ratio(one, ExactSum()) == 0.0


def test_a_long_and_a_short_sum_are_rounded_alike():
    long = np.tile(np.asarray([0.1, -2.5e7, 3e-9], np.float32), 1000)
    total = sum(map(Fraction, long.tolist()))
    assert exact_ratio(long, np.ones(1, np.float32)) == float(total)
    assert exact_ratio(long[:300], np.ones(1, np.float32)) == float(total / 10)
