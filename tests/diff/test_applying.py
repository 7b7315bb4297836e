"""Changes are applied to what they are for, and to nothing else."""

from __future__ import annotations

import fiddle as fdl
import numpy as np
import pytest

import fdlkit
from fdlkit.diff.applying import apply
from fdlkit.diff.compare import diff
from fdlkit.diff.model import Copied, Moved, Set
from fdlkit.diff.reading import read
from fdlkit.diff.text import render
from fdlkit.diff.writing import write
from fdlkit.errors import UserError
from fdlkit.graph.copying import copy
from fdlkit.graph.equality import equal
from fdlkit.graph.snapshot import snapshot
from tests.graph.configs import Box, Dynamic, Norm, Rate, collect


def test_the_face_compares_and_applies():
    a, b = fdl.Config(Box, a=1), fdl.Config(Box, a=2)
    changes = fdlkit.diff(a, b)
    assert len(changes) == 1 and isinstance(changes.changes[0], Set)
    assert equal(fdlkit.apply(changes, a), b)
    assert render(fdlkit.diff(a, a)) == "no differences\n"


def test_changes_apply_to_another_config_that_has_what_they_change():
    a = fdl.Config(Box, a=fdl.Config(Box, a=1), b=[1, 2])
    b = copy(a)
    b.a.a, b.b[0:0] = 5, [0]
    other = copy(a)
    other.a.b, other.c = "mine", "mine too"
    made = apply(diff(a, b), other)
    assert (made.a.a, made.a.b, made.b, made.c) == (5, "mine", [0, 1, 2], "mine too")


def test_a_config_that_has_another_value_there_is_refused_with_all_such_places():
    a = fdl.Config(Box, a=1, b=[1, 2], c=fdl.Config(Box, a=7))
    b = fdl.Config(Box, a=2, b=[2], c=fdl.Config(Box, a=8))
    other = fdl.Config(Box, a=3, b=[9, 2])
    with pytest.raises(UserError) as caught:
        apply(diff(a, b), other)
    assert caught.value.lines == (
        "this config is not what the changes are for",
        "  c: there is no such node",
    )
    other.c = fdl.Config(Box, a=9)
    with pytest.raises(UserError) as caught:
        apply(diff(a, b), other)
    assert caught.value.lines == (
        "this config is not what the changes are for",
        "  a: it is 3 here, and was 1",
        "  b[0]: it is 9 here, and was 1",
        "  c.a: it is 9 here, and was 7",
    )


def test_a_list_that_is_too_short_is_refused():
    a, b = fdl.Config(Box, a=[1, 2, 3, 4]), fdl.Config(Box, a=[1, 2, 3])
    with pytest.raises(UserError, match="it has 2 elements"):
        apply(diff(a, b), fdl.Config(Box, a=[1, 2]))


def test_changes_that_would_put_a_node_into_itself_are_refused():
    inner = fdl.Config(Box, a=1, b=2, c=3)
    a = fdl.Config(Box, a=inner, b=fdl.Config(Box, a="x"))
    b = fdl.Config(Box, b=fdl.Config(Box, a="x", c=copy(inner)))
    changes = diff(a, b)
    assert isinstance(changes.changes[0], Moved)
    other = copy(a)
    other.a.c = other.b
    with pytest.raises(UserError, match="put a node into itself"):
        apply(changes, other)


def test_a_copy_of_a_part_and_of_what_is_below_it_is_one_change():
    part = fdl.Config(Box, a=fdl.Config(Box, a=1), b=[fdl.Config(Dynamic)])
    a = fdl.Config(Box, a=part, b={"k": part}, c=[part])
    b = copy(a)
    b.b["k"] = copy(b.a)
    changes = diff(a, b)
    assert [type(change) for change in changes] == [Copied]
    assert equal(apply(changes, a), b)


def test_a_copy_can_go_on_sharing_what_is_below_it():
    low = fdl.Config(Box, a=1)
    part = fdl.Config(Box, a=low, b=[low])
    a = fdl.Config(Box, a=part, b=part)
    b = copy(a)
    b.b = fdl.Config(Box, a=b.a.a, b=[b.a.a])
    (change,) = diff(a, b)
    assert isinstance(change, Copied) and change.keeps == (("a", "a"),)
    assert equal(apply(diff(a, b), a), b)


def test_large_arrays_and_lambdas_are_kept_in_memory_and_refused_in_json():
    a = fdl.Config(Box, a=np.arange(3), b=1)
    b = fdl.Config(Box, a=np.arange(3), b=lambda: 1, c=[np.arange(99)])
    changes = diff(a, b)
    assert [change.path for change in changes] == [("b",), ("c",)]
    assert equal(apply(changes, a), b)
    with pytest.raises(UserError) as caught:
        write(changes)
    assert caught.value.lines[1:4] == (
        "  b: a lambda",
        "    write def NAME(...) at the top level of a module, and NAME here",
        "  c[0]: an array of 99 elements (numpy.ndarray)",
    )


def test_names_in_a_diff_that_was_read_are_looked_up_by_whom_the_caller_says():
    a, b = fdl.Config(Box), fdl.Config(Box, a=fdl.Config(collect, Norm.RMS))
    fdl.add_tag(b, "b", Rate)
    changes = read(write(diff(a, b)))
    with pytest.raises(UserError, match="nothing looks it up"):
        apply(changes, a)
    known = {"collect": collect, "Rate": Rate, "RMS": Norm.RMS}

    def resolve(held):
        return known[getattr(held, "qualname", None) or held.name]

    assert equal(apply(changes, a, resolve=resolve), b)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (("{", "["), "this is not JSON"),
        (("fdlkit.diff/1", "fdlkit.diff/9"), "its schema is not 'fdlkit.diff/1'"),
        (('"change": "set"', '"change": "sat"'), "there is no change 'sat'"),
        (('"holder"', '"holster"'), "holder"),
        (('"value": 0', '"value": 99'), "there is no value 99"),
        (('"node": 0', '"node": "0"'), "'0' stands where a int belongs"),
        (('"kept": []', '"kept": [1]'), "1 stands where a dict belongs"),
    ],
)
def test_a_damaged_diff_is_refused(damage, said):
    text = write(diff(fdl.Config(Box, a=1), fdl.Config(Box, a=2)))
    assert damage[0] in text
    with pytest.raises(UserError) as caught:
        read(text.replace(*damage, 1))
    assert said in str(caught.value)


def test_depth_width_and_diamonds_are_no_trouble():
    def chain(n):
        config = fdl.Config(Box, a=n)
        for _ in range(1000):
            config = fdl.Config(Box, a=[config])
        return config

    def diamond(n):
        config = fdl.Config(Box, a=n)
        for _ in range(30):
            config = fdl.Config(Box, a=config, b=[config])
        return config

    for make in (chain, diamond):
        changes = diff(make(1), make(2))
        assert len(changes) == 1
        assert equal(apply(changes, make(1)), make(2))
        assert equal(apply(read(write(changes)), snapshot(make(1))), make(2))
    wrapped = fdl.Config(Box, a={"k": chain(1)}, b="around")
    assert len(diff(chain(1), wrapped)) == 1
    assert equal(apply(diff(chain(1), wrapped), chain(1)), wrapped)


def test_each_level_of_a_chain_can_change():
    def chain(called):
        config = fdl.Config(called, a="end")
        for _ in range(400):
            config = fdl.Config(called, a=config)
        return config

    changes = diff(chain(Box), chain(Dynamic))
    assert len(changes) == 401
    assert equal(apply(changes, chain(Box)), chain(Dynamic))
