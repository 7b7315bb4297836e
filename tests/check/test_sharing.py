"""One node or two, in the config and in the parameters; and advice that works."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import fiddle as fdl
import flax.linen as nn
import jax
import optax
import pytest

import fdlkit
from fdlkit.nn.repeat import Repeat
from fdlkit.train.models import as_model
from tests.check.cases import head_that_nothing_calls, untied_by_the_model
from tests.check.house import Layer, Tower, experiment


def told(cfg) -> list[str]:
    return [finding.code for finding in fdlkit.check(cfg, levels=["config"])]


@dataclasses.dataclass
class Mutable:
    size: int = 0

    def run(self):
        return self.size


@dataclasses.dataclass(frozen=True)
class Frozen:
    size: int = 0

    def run(self):
        return self.size


class Stateless:
    def __call__(self, x):
        return x


def make(size: int):
    return size


@pytest.mark.parametrize(
    "node",
    [
        fdl.Config(Frozen, size=1),
        fdl.Config(Stateless),
        fdl.Config(make, size=1),
        fdl.Config(optax.adam, learning_rate=1e-3),
        fdl.Partial(Mutable),
        fdlkit.ref("x"),
        [1, 2],
    ],
    ids=repr,
)
def test_what_is_as_good_twice_as_once_may_stand_in_a_list_twice(node):
    assert told({"a": [node, node], "x": 1}) == []


def test_a_mutable_node_in_a_list_twice_is_told_once_and_a_copy_is_not():
    node = fdl.Config(Mutable, size=1)
    assert told([node, fdl.Config(Mutable, size=1), node]) == ["CF005"]
    assert told([node, copy.deepcopy(node)]) == []


def test_one_node_in_two_fields_is_what_sharing_is_for():
    cfg = experiment()
    layer = fdl.Config(Layer, width=8)
    cfg.model = fdl.Config(Tower, width=8, layers=[layer], head=layer)
    assert told(cfg) == []


def test_following_the_advice_for_a_repeated_node_makes_three_layers():
    cfg = experiment()
    cfg.model.layers = [fdl.Config(Layer, width=8)] * 3
    (finding,) = fdlkit.check(cfg, levels=["config"])
    assert finding.fix.startswith("make one for each: [fdl.Config(Layer, ...) for _ in")
    one = fdlkit.build(cfg).shapes().state.params
    cfg.model.layers = [fdl.Config(Layer, width=8) for _ in range(3)]
    assert told(cfg) == []
    three = fdlkit.build(cfg).shapes().state.params
    assert len(three) == len(one) + 2


def test_following_the_advice_for_an_unused_node_keeps_the_parameters():
    cfg = head_that_nothing_calls.broken()
    (finding,) = fdlkit.check(cfg, levels=["config"])
    assert finding.fix.startswith("cfg.model.second = cfg.model.first ")
    before = jax.tree.map(lambda a: a.shape, fdlkit.build(cfg).shapes().state.params)
    cfg.model.second = cfg.model.first
    assert told(cfg) == []
    after = jax.tree.map(lambda a: a.shape, fdlkit.build(cfg).shapes().state.params)
    assert before == after


def test_following_the_advice_for_untied_parameters_makes_two_nodes_of_one():
    cfg = untied_by_the_model.broken()
    assert told(cfg) == ["CF007"]
    cfg.model.second = fdl.Config(Layer, width=8)
    # A copy of the second is still what is called, and now nothing claims otherwise.
    assert told(cfg) == []


def test_a_module_in_a_template_and_outside_is_told_as_the_trainer_refuses_it():
    layer = fdl.Config(Layer, width=8)
    cfg = experiment()
    cfg.model.layers = [fdl.Config(Repeat, block=layer, n=2), layer]
    (finding,) = fdlkit.check(cfg, levels=["config"])
    assert (finding.code, finding.path) == ("CF015", "model.layers[0].block")
    with pytest.raises(fdlkit.errors.UserError, match="inside a repeated layer"):
        as_model(fdlkit.build(cfg).model)
    cfg.model.layers[1] = fdl.Config(Layer, width=8)
    assert told(cfg) == []


class SharedBlock(nn.Module):
    """A layer that also calls what all layers share."""

    own: nn.Module

    @nn.compact
    def __call__(self, x: jax.Array, shared: Any) -> jax.Array:
        return self.own(shared(x))


def test_what_a_repeat_shares_is_neither_untied_nor_unused():
    block = fdl.Config(SharedBlock, own=fdl.Config(Layer, width=8))
    shared = fdl.Config(Layer, width=8)
    cfg = experiment()
    repeat = fdl.Config(Repeat, block=block, n=2, shared=(shared,))
    cfg.model.layers = [repeat, shared]
    assert told(cfg) == []


@pytest.mark.parametrize("lifted", [nn.remat, nn.jit, nn.checkpoint])
def test_lifted_classes_neither_untie_nor_hide_what_they_hold(lifted):
    cfg = experiment()
    cfg.model.layers = [fdl.Config(lifted(Layer), width=8)]
    assert told(cfg) == []


def test_a_tied_model_of_the_house_is_tied_in_its_parameters():
    assert told(fdlkit.load("experiments/lm.py:tied")) == []


def test_looking_leaves_modules_as_they_were():
    cfg = experiment(
        model=fdl.Config(Tower, width=8, layers=[fdl.Config(Layer, width=8)])
    )
    clone = nn.Module.clone
    trainer = fdlkit.build(cfg)
    names = set(vars(trainer.model))
    from fdlkit.check.subject import Subject

    subject = Subject(cfg).with_trainer(trainer)
    assert subject.calls is not None
    assert nn.Module.clone is clone
    assert set(vars(trainer.model)) == names


@dataclasses.dataclass
class Part:
    a: int = 0
    b: int = 0
    inner: Any = None

    def run(self):
        return self.a, self.b, self.inner


def deep(levels: int) -> fdl.Config:
    part = fdl.Config(Part, a=0, b=0)
    for level in range(levels):
        part = fdl.Config(Part, a=level, b=level, inner=part)
    return part


def test_a_large_copy_is_told_and_what_was_made_twice_is_not():
    part = deep(8)
    assert told({"x": part, "y": [copy.deepcopy(part)]}) == ["CF006"]
    assert told({"x": part, "y": [deep(8)]}) == []


def test_copies_side_by_side_changed_or_small_are_not_told():
    part = deep(8)
    changed = copy.deepcopy(part)
    changed.a = 100
    changed.inner.a = 101
    assert told([part, copy.deepcopy(part)]) == []
    assert told({"x": part, "y": copy.deepcopy(part)}) == []
    assert told({"x": deep(1), "y": [copy.deepcopy(deep(1))]}) == []


def test_a_config_of_a_thousand_levels_and_a_diamond_are_checked():
    assert told(deep(1000)) == []
    node = fdl.Config(Part)
    for _ in range(40):
        node = fdl.Config(Part, a=1, b=2, inner={"x": node, "y": node})
    assert told(node) == []
