"""What is said of two kept texts: a change a line, by paths."""

from __future__ import annotations

import dataclasses
from typing import Any

import fiddle as fdl
import hypothesis
import pytest

from fdlkit.golden.drift import drift
from fdlkit.graph.references import ref
from fdlkit.graph.snapshot import snapshot
from fdlkit.view import flat
from tests.graph.configs import configs


@dataclasses.dataclass
class Layer:
    width: int = 8
    inner: Any = None


@dataclasses.dataclass
class Other:
    width: int = 8
    note: str = ""


def text(config):
    return "\n".join(map(str, flat.lines(snapshot(config)))) + "\n"


def told(old, new):
    return [str(change) for change in drift(text(old), text(new))]


NAME = f"{__name__}"


def layers(*widths):
    return fdl.Config(dict, layers=[fdl.Config(Layer, width=w) for w in widths])


def test_a_value():
    assert told(layers(1, 2), layers(1, 3)) == ["~ layers[1].width: 2 → 3"]


@pytest.mark.parametrize("at", [0, 1, 2])
def test_an_element_that_was_put_in_is_one_change(at):
    widths = [1, 2]
    widths.insert(at, 9)
    changes = [f"+ layers[{at}] = {NAME}.Layer  (and 2 lines below)"]
    assert told(layers(1, 2), layers(*widths)) == changes
    changes = [f"- layers[{at}] = {NAME}.Layer  (and 2 lines below)"]
    assert told(layers(*widths), layers(1, 2)) == changes


def test_keys_of_a_dict_are_no_indices():
    old = fdl.Config(dict, table={1: "a", 2: "b"})
    new = fdl.Config(dict, table={0: "x", 1: "a", 2: "b"})
    assert told(old, new) == ["+ table[0] = 'x'"]
    new = fdl.Config(dict, table={1: "a", 3: "b"})
    assert told(old, new) == ["- table[2] = 'b'", "+ table[3] = 'b'"]


def test_another_callable_and_what_it_does_not_have():
    old, new = fdl.Config(Layer, width=3), fdl.Config(Other, width=3)
    assert told(old, new) == [
        f"~ <root>: {NAME}.Layer → {NAME}.Other",
        "- inner = None  (default)",
        "+ note = ''  (default)",
    ]


def test_sharing_is_one_change_either_way():
    one, two = fdl.Config(Layer), fdl.Config(Layer)
    apart, shared = fdl.Config(dict, a=one, b=two), fdl.Config(dict, a=one, b=one)
    assert told(apart, shared) == [f"& b: shared with a  (was {NAME}.Layer)"]
    assert told(shared, apart) == [f"& b: no longer shared with a: {NAME}.Layer"]


def test_a_default_that_changed_is_told_as_such():
    old = text(fdl.Config(Layer))
    changes = drift(old, old.replace("width = 8", "width = 9"))
    assert [*map(str, changes)] == ["~ width: 8 → 9  (another default)"]


def test_setting_what_is_the_default_is_told():
    unset, explicit = fdl.Config(Layer), fdl.Config(Layer, width=8)
    assert told(unset, explicit) == ["~ width: 8 is set now, and was the default"]
    assert told(explicit, unset) == ["~ width: 8 is not set now, but the default"]
    assert told(unset, fdl.Config(Layer, width=9)) == ["~ width: 8  (default) → 9"]


def test_a_reference_and_what_it_comes_to():
    def config(width, factor):
        layer = fdl.Config(Layer, width=ref("hidden") * factor)
        return fdl.Config(dict, hidden=width, layer=layer)

    assert told(config(2, 4), config(3, 4)) == [
        "~ hidden: 2 → 3",
        "~ layer.width: ref(hidden) * 4 = 8 → ref(hidden) * 4 = 12",
    ]


def test_long_values_are_cut_where_they_differ():
    old, new = (fdl.Config(dict, x="a" * 500 + end) for end in ("y", "z"))
    (change,) = told(old, new)
    assert len(change) < 250
    assert "ay'" in change
    assert "az'" in change


@hypothesis.given(configs())
def test_nothing_is_said_of_the_same_config(config):
    assert drift(text(config), text(config)) == ()


@hypothesis.given(configs(), configs())
def test_something_is_said_of_any_other_text(one, two):
    assert bool(drift(text(one), text(two))) == (text(one) != text(two))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "f32[a=2]  weight_decay: none",
            "f32[a=3]  weight_decay: none",
            "f32[a=2] → f32[a=3]",
        ),
        (
            "f32[2]  weight_decay: 0.1 a step",
            "f32[2]  weight_decay: none",
            "weight_decay: 0.1 a step → none",
        ),
        (
            "f32[2]  weight_decay: none",
            "f32[3]  weight_decay: coupled",
            "f32[2]  weight_decay: none → f32[3]  weight_decay: coupled",
        ),
    ],
)  # fmt: skip
def test_of_an_array_what_is_different_is_told(old, new, said):
    (change,) = drift(f"params/a/b = {old}\n", f"params/a/b = {new}\n")
    assert str(change) == f"~ params/a/b: {said}"
