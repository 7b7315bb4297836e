"""How much two values have in common, as far as it is seen at a glance."""

from __future__ import annotations

import fiddle as fdl
import pytest

from fdlkit.diff.classes import Classes, Side
from fdlkit.diff.sketches import Sketches
from fdlkit.graph.snapshot import snapshot
from tests.diff.house import Width, base, block


def in_place(a, b):
    classes = Classes()
    graphs = snapshot(a), snapshot(b)
    values = [Side(graph, classes).of(graph.root) for graph in graphs]
    return Sketches(classes).in_place(*values)


def test_all_of_what_is_equal_is_the_same():
    assert in_place(base(), base()) == 1.0


def test_what_stands_in_the_same_place_counts_by_its_size():
    old, new = block(128, heads=8), block(256, heads=8)
    # Both nodes and the heads are; the width of either side is another value.
    assert in_place(old, new) == pytest.approx(3 / 5)


def test_elements_of_lists_are_compared_by_their_place():
    assert in_place([1, 2, 3], [1, 5, 3]) == pytest.approx(3 / 5)
    assert in_place([1, 2, 3], [0, 1, 2, 3]) == pytest.approx(1 / 8)
    assert in_place([], [1]) == pytest.approx(1 / 2)


def test_entries_of_dicts_are_compared_by_their_key():
    assert in_place({"a": 1, "b": 2}, {"b": 2, "a": 3}) == pytest.approx(2 / 4)


def test_nothing_of_nodes_of_other_kinds_is_the_same():
    assert in_place(block(128), fdl.Config(dict, width=128)) == 0.0
    assert in_place([1], (1,)) == 0.0


def test_an_argument_that_only_has_a_tag_is_no_value():
    old, new = block(128), block(128, heads=8)
    fdl.add_tag(old, "heads", Width)
    assert in_place(old, new) == pytest.approx(3 / 4)


def test_of_many_differences_only_some_are_looked_into():
    old = [block(n) for n in range(2_000)]
    new = [block(n, heads=8) for n in range(2_000)]
    # The class of each block is the same, and of a few what is in it.
    assert 1 / 6 < in_place(old, new) < 1 / 4
    assert in_place(old[:20], new[:20]) == pytest.approx(3 / 4, rel=0.05)


def test_what_stands_in_many_places_counts_in_each():
    def halves(leaf):
        config = fdl.Config(dict, leaf=leaf, other=1)
        for _ in range(20):
            config = fdl.Config(dict, a=config, b=config)
        return config

    # A million times the node and one of its leaves, and as many nodes around them.
    assert in_place(halves(2), halves(3)) == pytest.approx(3 / 5, rel=1e-5)


def test_what_is_shared_so_often_that_it_cannot_be_counted_is_not_judged():
    def diamonds(leaf):
        config = fdl.Config(dict, leaf=leaf)
        for _ in range(60):
            config = fdl.Config(dict, a=config, b=config)
        return config

    assert in_place(diamonds(1), diamonds(2)) == 0.0
