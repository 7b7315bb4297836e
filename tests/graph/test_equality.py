"""Same callables, same values, same sharing; and what to say when not."""

from __future__ import annotations

import copy

import fiddle as fdl
import hypothesis
import numpy as np
import pytest
from fiddle import daglish

from fdlkit.graph import walk
from fdlkit.graph.copying import copy as copy_config
from fdlkit.graph.equality import Difference, differences, equal, flat
from fdlkit.graph.references import Reference, ref
from fdlkit.graph.restore import restore
from fdlkit.graph.snapshot import snapshot
from tests.graph.configs import Box, Dynamic, Norm, Pair, Rate, collect, configs


@hypothesis.given(configs())
def test_restoring_a_snapshot_gives_the_config_back(config):
    again = restore(snapshot(config))
    assert equal(config, again)
    assert snapshot(again) == snapshot(config)
    assert _shape(again) == _shape(config)


@hypothesis.given(configs())
def test_a_copy_is_equal_and_shares_nothing_that_can_change(config):
    copied = copy_config(config)
    assert equal(config, copied) and _shape(copied) == _shape(config)
    copied.rest[1].append(1)
    copied.top = 77
    assert not equal(config, copied)
    assert [d.path for d in differences(config, copied)] == [
        "top",
        f"rest[1][{len(config.rest[1])}]",
    ]


@hypothesis.given(configs(), configs())
def test_equality_is_symmetric_and_says_the_same_as_the_differences(a, b):
    for config in (a, b):  # tags do not count as differences
        for node in _nodes(config):
            for key in list(node.__argument_tags__):
                fdl.clear_tags(node, key)
    assert equal(a, b) == equal(b, a) == (not differences(a, b))


def _nodes(config):
    values = [value for value, _ in daglish.iterate(config)]
    return [value for value in values if isinstance(value, fdl.Buildable)]


def _shape(config):
    """Types of everything, and for each mutable thing where it was seen first."""
    seen: dict[int, int] = {}
    out, todo = [], [config]
    while todo:
        value = todo.pop()
        if _can_change(value) and id(value) in seen:
            out.append(seen[id(value)])
            continue
        seen[id(value)] = len(out)
        below = walk.children(value)
        out.append((type(value), [key for key, _ in below]))
        todo += [child for _, child in reversed(below)]
    return out


def _can_change(value):
    kinds = fdl.Buildable | list | dict
    return isinstance(value, kinds) and not isinstance(value, Reference)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (1, 1.0), (1, True), (0.0, -0.0), ("1", 1), ([1], (1,)), ({1}, frozenset({1})),
        ({1: 2}, {"1": 2}), ({1: 2}, {True: 2}), (Pair(1, 2), (1, 2)), (None, 0),
        (Norm.RMS, "rms"), (b"a", "a"), ([], ()), (ref("a"), ref("b")),
        (ref("a") * 2, ref("a") * 3), (np.arange(2), np.arange(3)), (len, repr),
        (lambda: 1, lambda: 1), (np.float32, np.float64), (np.dtype("int8"), np.int8),
    ],
)  # fmt: skip
def test_values_of_another_type_or_value_are_different(one, two):
    a, b = fdl.Config(Box, a=one), fdl.Config(Box, a=two)
    assert equal(a, fdl.Config(Box, a=copy.copy(one)))
    assert not equal(a, b)
    assert all(d.path.startswith("a") for d in differences(a, b))
    assert differences(a, b)


def test_nan_equals_nan():
    assert equal(fdl.Config(Box, a=float("nan")), fdl.Config(Box, a=float("nan")))


def test_an_explicit_default_equals_an_unset_argument():
    assert equal(fdl.Config(Box), fdl.Config(Box, a=None, b=0.5, c=()))
    assert equal(fdl.Config(Dynamic), fdl.Config(Dynamic, items=[]))
    assert not equal(fdl.Config(Dynamic), fdl.Config(Dynamic, items=[1]))
    assert not equal(fdl.Config(Box), fdl.Config(Box, b=0))


def test_the_order_of_arguments_and_dict_keys_does_not_count():
    one, two = fdl.Config(dict, a=1, b={1: 1, 2: 2}), fdl.Config(dict)
    two.b, two.a = {2: 2, 1: 1}, 1
    assert equal(one, two)


def test_sharing_counts_for_what_can_change():
    node, widths = fdl.Config(Box), [1]
    shared = fdl.Config(Box, a=[node, node], b=[widths, widths])
    apart = fdl.Config(Box, a=[node, fdl.Config(Box)], b=[widths, widths])
    assert not equal(shared, apart) and not equal(apart, shared)
    assert differences(shared, apart) == [
        Difference("a[1]", "*a[0]", f"{Box.__module__}.Box")
    ]
    assert not equal(shared, fdl.Config(Box, a=[node, node], b=[[1], [1]]))


def test_sharing_does_not_count_for_what_cannot_change():
    pair = (1, (2, "x"))
    assert equal([pair, pair], [(1, (2, "x")), (1, (2, "x"))])


def test_tags_count_for_equality():
    one, two = fdl.Config(Box), fdl.Config(Box)
    fdl.add_tag(two, "a", Rate)
    assert not equal(one, two) and differences(one, two) == []


def test_differences_say_path_old_and_new():
    one = fdl.Config(Box, a=fdl.Config(Box, b=1), b=[1, 2], c=fdl.Partial(collect, 1))
    two = fdl.Config(Box, a=fdl.Config(Dynamic, a=3), b=[1, 2, {"k": 3}], c=ref("a"))
    here = Box.__module__
    assert differences(one, two) == [
        Difference("a", f"{here}.Box", f"{here}.Dynamic"),
        Difference("a.a", "None", "3"),
        Difference("a.b", "1", None),
        Difference("b[2]", None, "{'k': 3}"),
        Difference("c", f"partial {here}.collect", "ref(a)"),
    ]


def test_a_value_that_was_unset_shows_its_default():
    assert differences(fdl.Config(Box), fdl.Config(Box, b=2)) == [
        Difference("b", "0.5", "2")
    ]


def test_flat_has_a_line_a_value_that_is_set():
    node = fdl.Config(Box, a=(0.9, 0.95), b=Norm.RMS)
    config = fdl.Config(Box, a=[node, node], b={"k": len, 1: []}, c=ref("a[0].b"))
    here = Box.__module__
    assert flat(snapshot(config)) == {
        "<root>": f"{here}.Box",
        "a[0]": f"{here}.Box",
        "a[0].a": "(0.9, 0.95)",
        "a[0].b": f"{here}.Norm.RMS",
        "a[1]": "*a[0]",
        "b['k']": "builtins.len",
        "b[1]": "[]",
        "c": "ref(a[0].b)",
    }


def test_depth_and_diamonds_cost_their_node_count():
    def chain(n):
        config = fdl.Config(Box, a=n)
        for _ in range(3000):
            config = fdl.Config(Box, a=[config])
        return config

    def diamond(n):
        config = fdl.Config(Box, a=n)
        for _ in range(30):
            config = fdl.Config(Box, a=config, b=[config])
        return config

    for make in (chain, diamond):
        one = make(1)
        assert equal(one, make(1)) and not equal(one, make(2))
        assert equal(one, copy_config(one)) and equal(one, restore(snapshot(one)))
        assert len(differences(one, make(2))) == 1
    assert len(flat(snapshot(diamond(1)))) == 30 * 2 + 2
