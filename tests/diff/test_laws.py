"""What holds for any two configs: the changes are true, complete and few."""

from __future__ import annotations

import fiddle as fdl
import hypothesis
from hypothesis import strategies as st

from fdlkit.diff.applying import apply
from fdlkit.diff.compare import diff
from fdlkit.graph.copying import copy
from fdlkit.graph.equality import equal
from tests.graph.configs import configs


@hypothesis.given(configs(), configs())
def test_applying_the_changes_to_the_old_config_gives_the_new_one(a, b):
    before = copy(a)
    changes = diff(a, b)
    assert equal(apply(changes, a), b)
    assert equal(a, before)


@hypothesis.given(configs())
def test_a_config_does_not_differ_from_itself_or_a_copy(config):
    assert not diff(config, config)
    assert not diff(config, copy(config))


@hypothesis.given(configs(), configs())
def test_there_are_changes_exactly_if_the_configs_are_not_equal(a, b):
    assert bool(diff(a, b)) == (not equal(a, b))
