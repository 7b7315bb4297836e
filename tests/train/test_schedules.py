"""Learning rates with a ramp, a rest and a decay."""

from __future__ import annotations

import numpy as np
import pytest

from fdlkit.train.schedules import ramp_then_cosine, ramp_then_exponential

BOTH = pytest.mark.parametrize("schedule", [ramp_then_cosine, ramp_then_exponential])


@BOTH
def test_a_rate_rises_in_a_line_rests_and_falls_to_its_floor(schedule):
    rate = schedule(2.0, ramp_steps=4, decay_start=7, decay_end=11, floor=0.25)
    values = [float(rate(step)) for step in range(14)]
    np.testing.assert_allclose(values[:5], [0, 0.5, 1, 1.5, 2])
    np.testing.assert_allclose(values[5:8], 2)
    assert values[7] > values[8] > values[9] > values[10] > values[11]
    np.testing.assert_allclose(values[11:], 0.5, rtol=1e-6)


@BOTH
def test_without_a_ramp_the_first_rate_is_the_peak(schedule):
    rate = schedule(2.0, ramp_steps=0, decay_start=0, decay_end=4, floor=0.5)
    assert [float(rate(0)), float(rate(4))] == [2.0, 1.0]


def test_an_exponential_halves_in_equal_times_and_a_cosine_is_half_way_in_the_middle():
    steps = {"ramp_steps": 0, "decay_start": 0, "decay_end": 100}
    exponential = ramp_then_exponential(1.0, **steps, floor=0.01)
    np.testing.assert_allclose(float(exponential(50)), 0.1, rtol=1e-5)
    cosine = ramp_then_cosine(1.0, **steps, floor=0.2)
    np.testing.assert_allclose(float(cosine(50)), 0.6, rtol=1e-6)


@BOTH
@pytest.mark.parametrize(
    "wrong",
    [
        {"ramp_steps": 8},
        {"ramp_steps": -1},
        {"decay_end": 7},
        {"floor": 1.5},
        {"floor": -0.1},
    ],
    ids=str,
)
def test_steps_out_of_order_and_a_floor_above_the_peak_are_refused(schedule, wrong):
    right = {"ramp_steps": 4, "decay_start": 7, "decay_end": 11, "floor": 0.25}
    with pytest.raises(ValueError, match=next(iter(wrong))):
        schedule(1.0, **right | wrong)
