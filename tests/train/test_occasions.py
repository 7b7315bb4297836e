"""When evaluators are due, what of the data they see, and what that decides."""

from __future__ import annotations

import itertools
import math

import pytest

from fdlkit.train.coverage import Epoch, First, Rolling
from fdlkit.train.goals import KeepBest, StopEarly, best_of
from fdlkit.train.occasions import Occasions

SCHEDULES = [
    Occasions(every=3),
    Occasions(every=1, last=False),
    Occasions(at=(7, 2)),
    Occasions(every=4, at=(2, 8, 9, 9)),
]


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
def test_what_is_computed_of_a_schedule_is_what_counting_gives(schedule):
    due = [step for step in range(30) if schedule.is_due(step)]
    assert 0 not in due
    for step in range(30):
        later = [one for one in due if one > step]
        if later:
            assert schedule.next_after(step) == later[0]
        assert schedule.times_before(step) == sum(one < step for one in due)


def test_the_last_step_is_one_where_that_is_asked_for():
    assert Occasions(every=4).is_due(6, is_last=True)
    assert not Occasions(every=4, last=False).is_due(6, is_last=True)
    assert Occasions(at=(3,)).next_after(3) is None


def batches(coverage, number, num_batches):
    spans = coverage.spans(number, num_batches)
    return [first + i for first, count in spans for i in range(count)]


def test_an_epoch_is_every_batch_and_first_is_the_same_ones_each_time():
    assert batches(Epoch(), 5, 3) == [0, 1, 2]
    assert batches(First(2), 5, 3) == [0, 1]
    assert batches(First(4), 5, 3) == [0, 1, 2]
    assert batches(First(2), 5, None) == [0, 1]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7])
def test_rolling_evaluations_read_all_batches_in_turn(n):
    read = [b for number in range(9) for b in batches(Rolling(n), number, 3)]
    assert read == list(itertools.islice(itertools.cycle(range(3)), 9 * n))
    assert batches(Rolling(n), 4, None) == list(range(4 * n, 5 * n))


def test_the_first_of_equals_is_the_best_and_what_is_not_finite_never():
    history = [(1, math.nan), (2, 0.5), (3, math.inf), (4, 0.25), (5, 0.25)]
    assert best_of(KeepBest(), history) == (4, 0.25)
    assert best_of(KeepBest(mode="max"), history) == (2, 0.5)
    assert best_of(KeepBest(), history, among=[2, 3, 5]) == (5, 0.25)
    assert best_of(KeepBest(), history[:1]) is None


@pytest.mark.parametrize(
    ("goal", "values", "stops_after"),
    [
        (StopEarly(patience=2), [3.0, 2.0, 2.5, 2.1], 4),
        (StopEarly(patience=2), [3.0, 2.0, 2.5, 1.9, 2.0], None),
        (StopEarly(patience=1, min_delta=0.1), [3.0, 2.95], 2),
        (StopEarly(patience=2, mode="max"), [0.1, 0.3, 0.2, 0.3], 4),
        (StopEarly(patience=2), [math.nan, math.nan], 2),
        (StopEarly(reaches=2.69), [4.0, 2.7, 2.69], 3),
        (StopEarly(reaches=0.9, mode="max"), [0.5, math.nan, 0.95], 3),
        (StopEarly(reaches=1.0, patience=2), [2.0, 3.0, 4.0], 3),
    ],
)
def test_a_run_stops_after_the_evaluation_that_decides_it(goal, values, stops_after):
    history = list(enumerate(values, 1))
    stops = [n for n in range(len(values) + 1) if goal.reason(history[:n]) is not None]
    assert stops[:1] == ([] if stops_after is None else [stops_after])


def test_a_reason_says_what_was_best():
    history = [(100, 3.0), (200, 2.0), (300, 2.5)]
    assert StopEarly(patience=1).reason(history) == (
        "eval/loss is no better for 1 evaluation (best 2 at step 200)"
    )
    assert StopEarly(reaches=2.69).reason(history[:2]) == (
        "eval/loss is 2, and reaches=2.69"
    )
