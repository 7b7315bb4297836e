"""`~PATH`, `PATH+=VALUE` and `PATH*=VALUE` keep a value to what its place allows."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any, Literal, NamedTuple

import fiddle as fdl
import pytest

from fdlkit.errors import UserError
from fdlkit.graph.references import ref
from fdlkit.overrides.apply import Override, apply
from fdlkit.overrides.explain import explain


class Point(NamedTuple):
    x: int
    y: int = 7


class Name(fdl.Tag):
    """What it is called."""


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclasses.dataclass
class Box:
    point: Point = Point(1, 2)
    pair: tuple[int, int] = (1, 2)
    any_length: tuple[int, ...] = (1, 2)
    mode: Literal["a", "aa", 1, 2] = "a"
    maybe: Literal["a", "aa"] | None = "a"
    level: Level = Level.LOW
    flag: bool = True
    name: str = "n"
    table: Any = None
    xs: Any = None
    ys: Any = None


def by_place(a: int, b: int = 2, /, *, k: int = 0) -> tuple[int, int]:
    return a, b


def several(*xs: int) -> tuple[int, ...]:
    return xs


def changed(cfg, *texts):
    return apply(cfg, [Override("set", text) for text in texts], None)[0]


def refused(cfg, text):
    with pytest.raises(UserError) as caught:
        changed(cfg, text)
    return caught.value.lines


def test_a_field_of_a_named_tuple_goes_back_to_its_default():
    cfg = changed(fdl.Config(Box), "~point.y")
    assert cfg.point == Point(1, 7) and type(cfg.point) is Point
    assert changed(fdl.Config(Box), "~point[1]").point == Point(1, 7)


@pytest.mark.parametrize("text", ["~point.x", "~point[0]"])
def test_a_named_tuple_is_never_without_a_field(text):
    assert refused(fdl.Config(Box), text)[0] == "a Point is never without 'x': set it"


def test_a_key_that_is_not_there_cannot_be_taken_away():
    cfg = fdl.Config(Box, table={"alpha": 1, 2: 3})
    assert changed(cfg, "~table.alpha").table == {2: 3}
    lines = refused(cfg, "~table['beta']")
    assert lines[0] == "no key 'beta' at table (dict)"
    assert lines[-1] == "  keys: 'alpha', 2"


def test_what_stands_below_a_key_that_is_not_there_is_told_with_the_keys():
    lines = refused(fdl.Config(Box, table={"a.b": 1}), "table.a.b=2")
    assert lines[0] == "no key 'a' at table (dict)"
    assert lines[-1] == "  keys: 'a.b'"


def test_a_new_key_that_is_no_string_can_be_added_as_the_message_says():
    cfg = fdl.Config(Box, table={1: 1})
    lines = refused(cfg, "table[2]=2")
    assert lines[-1] == "  to add it: table+={2: VALUE}"
    assert changed(cfg, "table+={2: 2}").table == {1: 1, 2: 2}


def test_an_argument_without_a_name_is_unset_by_its_place():
    cfg = changed(fdl.Config(by_place, 1, 5, k=3), "~[1]")
    assert fdl.build(cfg) == (1, 2)
    assert dict(fdl.ordered_arguments(cfg)) == {0: 1, "k": 3}
    assert explain(cfg, "[1]").value == "2"


def test_those_behind_one_of_several_move_up():
    cfg = changed(fdl.Config(several, 1, 2, 3), "~[0]")
    assert fdl.build(cfg) == (2, 3)


def test_what_was_unset_everywhere_is_not_said_to_be_set():
    cfg = fdl.Config(Box, xs=fdl.Config(Box, name="x"))
    _, notes = apply(cfg, [Override("set", "~**.name")], None)
    assert notes == ("~**.name unset name, xs.name",)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("flag+=1", "flag (BOX): '+=' does not work on True"),
        ("level+=1", "level (BOX): '+=' does not work on <Level.LOW: 1>"),
        ("name*=3", "name (BOX): '*=' does not work on 'n'"),
        ("table+=1", "table (BOX): '+=' does not work on None"),
        ("mode+=aa", "mode (BOX): the result, 'aaa', is not one of a, aa, 1, 2"),
        ("maybe+=aa", "maybe (BOX): the result, 'aaa', is not one of a, aa or None"),
        (
            "pair+=(3,4)",
            "pair (BOX): the result, (1, 2, 3, 4), is not a tuple[int, int]",
        ),
    ],
)
def test_a_result_that_the_annotation_does_not_allow_is_refused(text, what):
    box = f"{Box.__module__}.Box"
    assert refused(fdl.Config(Box), text)[0] == what.replace("BOX", box)


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("mode+=a", "mode", "aa"),
        ("maybe+=a", "maybe", "aa"),
        ("any_length+=(3,)", "any_length", (1, 2, 3)),
        ("name+=o", "name", "no"),
    ],
)
def test_one_that_it_allows_is_set(text, name, value):
    assert getattr(changed(fdl.Config(Box), text), name) == value


def test_a_choice_that_is_a_number_is_computed_too():
    assert changed(fdl.Config(Box, mode=1), "mode+=1").mode == 2
    assert (
        "the result, 3, is not one of" in refused(fdl.Config(Box, mode=2), "mode+=1")[0]
    )


@pytest.mark.parametrize(
    ("held", "text", "expected"),
    [
        ([1], "xs+=[2]", [1, 2]),
        ({"a": 1}, "xs+={'b':2}", {"a": 1, "b": 2}),
        ({1}, "xs+={2}", {1, 2}),
    ],
)
def test_what_is_added_to_a_shared_container_is_in_it_wherever_it_stands(
    held, text, expected
):
    before = fdl.Config(Box, xs=held, ys=held)
    cfg = changed(before, text)
    assert cfg.xs == expected and cfg.ys is cfg.xs
    assert before.xs == held != expected


def test_what_it_was_before_is_still_told():
    cfg = changed(fdl.Config(Box, xs=[1]), "xs+=[2]", "xs+=[3]")
    told = [write.value for write in explain(cfg, "xs").writes]
    assert told == ["None", "[1]", "[1, 2]", "[1, 2, 3]"]


@pytest.mark.parametrize("kind", ["set", "tag"])
def test_of_many_links_that_are_cut_the_first_ten_are_told(kind):
    boxes = [fdl.Config(Box, name=ref("name")) for _ in range(1200)]
    for box in boxes:
        fdl.add_tag(box, "name", Name)
    cfg = fdl.Config(Box, name="x", xs=boxes)
    text = "**.name=y" if kind == "set" else "Name=y"
    _, notes = apply(cfg, [Override(kind, text)], None)
    assert notes[0] == "xs[0].name no longer follows ref(name)"
    assert notes[10] == "and so on, at 1,190 more places"
    assert len(notes) == 12


def test_everywhere_is_also_in_a_dict():
    inner = fdl.Config(Box, name="x")
    cfg = fdl.Config(Box, table={"name": "y", "deep": [{"name": "w"}]}, xs={1: inner})
    after, notes = apply(cfg, [Override("set", "**.name=z")], None)
    assert notes[-1] == (
        "**.name=z set name, table['name'], table['deep'][0]['name'], xs[1].name"
    )
    assert after.table["name"] == after.xs[1].name == "z"
    with pytest.raises(UserError, match="did you mean 'deep'"):
        apply(cfg, [Override("set", "**.dep=1")], None)
