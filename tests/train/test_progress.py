"""Numbers of a log point as a person reads them."""

from __future__ import annotations

import math

import pytest

from fdlkit.train.progress import format_values


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2.34567, "2.346"),
        (25830.0, "25,830"),
        (25830.5, "2.583e+04"),
        (-3.0, "-3"),
        (7, "7"),
        (0.00012345, "0.0001234"),
        (2.0**60, "1.153e+18"),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
    ],
)
def test_a_number_has_four_digits_and_a_whole_one_all_of_its_own(value, text):
    assert format_values({"rows": value}) == f"rows {text}"


def test_what_is_no_number_is_left_out():
    values = {"loss": 1.5, "histogram": object(), "rows": 2}
    assert format_values(values) == "loss 1.5  rows 2"  # type: ignore[dict-item]
