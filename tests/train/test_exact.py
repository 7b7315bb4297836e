"""Sums that are rounded once, at their end."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fdlkit.train.exact import exact_sum

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
