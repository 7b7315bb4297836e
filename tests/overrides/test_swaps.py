"""Another callable keeps the arguments that it has too, by place as well."""

from __future__ import annotations

import dataclasses
import sys
from typing import Any

import fiddle as fdl
import optax
import pytest

from fdlkit.graph.build import build
from fdlkit.graph.snapshot import snapshot
from fdlkit.overrides import swaps
from fdlkit.overrides.apply import Override, apply
from fdlkit.overrides.explain import explain


class Size(fdl.Tag):
    """A size."""


def by_place(left, right, /, *rest, name="x"):
    return left, right, rest, name


def by_name(left, name="x", **more):
    return left, name, more


def one_by_place(left, /, name="x"):
    return left, name


def gathered(first, *rest):
    return first, rest


def list_of(*rest):
    return rest


@dataclasses.dataclass(frozen=True)
class Holder:
    made: Any
    other: Any = None


def swapped(node, *texts):
    """The node after overrides, and what was said."""
    overrides = [Override("set", text) for text in texts]
    holder = fdl.Config(Holder, made=node)
    cfg, notes = apply(holder, overrides, sys.modules[__name__])
    return cfg.made, notes


def test_a_chain_becomes_an_optimizer():
    chain = fdl.Config(
        optax.chain, fdl.Config(optax.clip, max_delta=1.0), fdl.Config(optax.adam, 1e-3)
    )
    node, notes = swapped(chain, "made=sgd", "made.learning_rate=0.1")
    assert node == fdl.Config(optax.sgd, learning_rate=0.1)
    assert notes == ("made is now sgd, which has no [0], [1]",)
    assert isinstance(build(node), optax.GradientTransformation)


@pytest.mark.parametrize(
    ("old", "new", "keys"),
    [
        (by_place, list_of, {0: None, 1: None, 2: 0, 3: 1, "name": None}),
        (by_place, by_name, {0: "left", 1: "right", 2: None, "name": "name"}),
        (by_place, one_by_place, {0: 0, 1: None, 2: None, "name": "name"}),
        (by_place, by_place, {0: 0, 1: 1, 2: 2, "name": "name"}),
        (list_of, by_place, {0: 2, 1: 3}),
        (gathered, list_of, {"first": None, 1: 0}),
        (by_name, one_by_place, {"left": 0, "name": "name", "other": None}),
    ],
)
def test_what_another_callable_knows_arguments_by(old, new, keys):
    assert swaps.carried(old, new, keys) == keys


def test_elements_of_one_rest_are_those_of_another():
    node, notes = swapped(fdl.Config(list_of, 1, 2, 3), "made=gathered", "made.first=0")
    assert fdl.build(node) == (0, (1, 2, 3))
    assert notes == ()


def test_arguments_without_names_get_them_and_lose_them():
    node, notes = swapped(fdl.Config(by_place, 1, 2, 3), "made=by_name")
    assert fdl.build(node) == (1, "x", {"right": 2})
    assert notes == ("made is now by_name, which has no [2]",)
    node, _ = swapped(fdl.Config(by_name, left=1, name="y"), "made=one_by_place")
    assert fdl.build(node) == (1, "y")


def tagged():
    node = fdl.Config(by_place, 1, 2)
    fdl.add_tag(node, 0, Size)
    return node


LINE = tagged.__code__.co_firstlineno + 1


def test_tags_and_history_go_along():
    node = tagged()
    node, _ = swapped(node, "made=by_name")
    assert fdl.get_tags(node, "left") == {Size}
    told = explain(fdl.Config(Holder, made=node), "made.left")
    written = [write for write in told.writes if write.kind == "set"]
    assert [write.value for write in written] == ["1"]
    assert str(written[0].origin).endswith(f"{LINE}")


def test_it_is_the_same_node_wherever_it_is_shared():
    shared = fdl.Config(list_of, 1)
    holder = fdl.Config(Holder, made=shared, other=shared)
    cfg, _ = apply(holder, [Override("set", "made=gathered")], sys.modules[__name__])
    assert cfg.made is cfg.other
    assert fdl.get_callable(cfg.other) is gathered
    assert fdl.get_callable(shared) is list_of
    assert len(snapshot(cfg).nodes) == 2
