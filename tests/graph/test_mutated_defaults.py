"""A default that was changed by way of a config is told before it does harm."""

from __future__ import annotations

import functools
import importlib.util
import itertools
import sys

import fiddle as fdl
import pytest

from fdlkit.errors import UserError
from fdlkit.graph.build import build
from fdlkit.graph.mutated_defaults import find_mutated_defaults
from fdlkit.graph.snapshot import snapshot
from fdlkit.overrides.explain import explain
from fdlkit.view.scene import scene
from fdlkit.view.tree import tree

SOURCE = """
import functools

EMPTY = []


def widths(xs=[], *, table={"a": 1}, names=set(), nested=[[1], {"k": [2]}], n=1):
    return xs, table, names, nested


class Layer:
    def __init__(self, xs=[1, 2]):
        self.xs = xs


class Child(Layer):
    pass


def remember(x, cache={}, *, seen=[]):
    cache[x] = x
    seen.append(x)
    return len(cache)


def elsewhere(xs=EMPTY, ys=list(range(3))):
    return xs, ys


def logged(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        return function(*args, **kwargs)

    return call


@logged
def decorated(xs=[]):
    return xs


call = lambda xs=[]: xs
part = functools.partial(widths, n=2)
"""
COUNT = itertools.count()


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module with its own defaults, which a test may spoil."""
    name = f"fdlkit_test_defaults_{next(COUNT)}"
    path = tmp_path / f"{name}.py"
    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location(name, path)
    loaded = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, loaded)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    spec.loader.exec_module(loaded)
    return loaded


def test_a_changed_default_is_refused_with_what_to_write(module):
    cfg = fdl.Config(module.widths)
    cfg.xs.append(1)
    later = fdl.Config(dict, a=[fdl.Config(module.widths)])
    with pytest.raises(UserError) as refused:
        build(later)
    name = module.__name__
    assert refused.value.lines == (
        "1 default is not what it was written as",
        f"  a[0].xs: the default of {name}.widths was xs=[], and is [1] now",
        "    set it instead of changing what is not set: cfg.a[0].xs = [1]",
    )


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (lambda c: c.table.update(b=2), ["table"]),
        (lambda c: c.table.clear(), ["table"]),
        (lambda c: c.names.add("x"), ["names"]),
        (lambda c: c.nested[0].append(2), ["nested"]),
        (lambda c: c.nested[1]["k"].append(3), ["nested"]),
        (lambda c: (c.xs.append(fdl.Config(dict)), c.names.add(1)), ["xs", "names"]),
        (lambda c: c.xs.append(None), ["xs"]),
    ],
)
def test_every_way_to_change_one_is_found(module, change, names):
    cfg = fdl.Config(module.widths)
    assert not find_mutated_defaults(snapshot(cfg))
    change(cfg)
    assert [one.name for one in find_mutated_defaults(snapshot(cfg))] == names


@pytest.mark.parametrize("name", ["Layer", "Child", "decorated", "part"])
def test_it_is_found_behind_classes_decorators_and_partials(module, name):
    cfg = fdl.Config(getattr(module, name))
    cfg.xs.append(3)
    with pytest.raises(UserError, match="was xs="):
        build(cfg)


def test_an_argument_that_is_set_harms_nobody(module):
    fdl.Config(module.widths).xs.append(1)
    cfg = fdl.Config(module.widths, xs=[5])
    cfg.xs.append(6)
    assert build(cfg)[0] == [5, 6]


def test_a_true_and_a_one_are_told_apart(module):
    cfg = fdl.Config(module.Layer)
    cfg.xs[0] = True
    assert find_mutated_defaults(snapshot(cfg))


def test_a_function_that_remembers_in_its_default_is_left_alone(module):
    for x in range(3):
        assert build(fdl.Config(module.remember, x)) == x + 1


def test_what_the_text_does_not_say_is_left_alone(module):
    for name in ("elsewhere", "call"):
        cfg = fdl.Config(getattr(module, name))
        cfg.xs.append(1)
        build(cfg)


def test_a_file_that_changed_since_it_was_imported_is_not_believed(module, tmp_path):
    path = tmp_path / f"{module.__name__}.py"
    path.write_text(SOURCE.replace("xs=[]", "xs=[1, 2, 3]"))
    assert build(fdl.Config(module.widths))[0] == []


def test_it_is_found_before_anything_is_built(module):
    made = []

    def make(x):
        made.append(x)

    fdl.Config(module.widths).xs.append(1)
    with pytest.raises(UserError):
        build([fdl.Config(make, 1), fdl.Config(module.widths)])
    assert made == []


def test_many_configs_of_one_function_are_all_told(module):
    fdl.Config(module.Layer).xs.append(1)
    found = find_mutated_defaults(snapshot([fdl.Config(module.Layer)] * 2))
    assert len(found) == 1  # one shared node
    two = [fdl.Config(module.Layer), fdl.Partial(module.Layer)]
    assert len(find_mutated_defaults(snapshot(two))) == 2


def test_a_partial_that_holds_the_default_itself_is_left_alone(module):
    cfg = fdl.Config(functools.partial(module.widths, xs=[]))
    cfg.xs.append(1)
    build(cfg)


def test_a_tree_and_an_explanation_tell_what_the_default_was(module):
    cfg = fdl.Config(module.widths)
    cfg.xs.append(1)
    texts = [f"{row.key} = {row.value}" for row in tree(snapshot(cfg))[1:]]
    assert texts[0] == "xs = [1], written as []"
    assert texts[1] == "table = {'a': 1}"
    assert explain(cfg, "xs").writes[0].value == "[1], written as []"
    rows = scene(snapshot(cfg), defaults=True).boxes[0].rows
    assert rows[0].text == "[1], written as []"
    assert texts[4] == "n = 1"
