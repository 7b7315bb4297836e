"""A file that the code has outgrown is told name by name, with what each is now."""

from __future__ import annotations

import functools

import fiddle as fdl
import pytest

from fdlkit.errors import UserError
from fdlkit.serialize.loading import loads
from fdlkit.serialize.reading import read
from fdlkit.serialize.writing import dumps
from fdlkit.view.tree import render, tree
from tests.serialize import garage
from tests.serialize.garage import Engine, Paint, Size, Speed, Vehicle, Wheel

HERE = [garage.__name__]

# What the names were when the file was written.
FORMERLY = [
    ('"power"', '"horsepower"'),
    ('"cylinders"', '"pistons"'),
    ('"polish"', '"shine"'),
    ('"speed"', '"spede"'),
    ('"radius"', '"radus"'),
    ('"length"', '"lenght"'),
    ('"height"', '"weight_in_tons"'),
    ("garage:Vehicle", "garage:Vehicel"),
    ("garage:drive", "garage:drive_to"),
    ("garage:Speed", "garage:Speeds"),
    ('"SILVER"', '"SLIVER"'),
]


def config() -> fdl.Config:
    engine = fdl.Config(Engine, power=3, cylinders=6)
    fdl.add_tag(engine, "power", Speed)
    vehicle = fdl.Config(
        Vehicle,
        engine=engine,
        wheels=[Wheel(20), Wheel(21, 4)],
        paint=Paint.SILVER,
        size=Size(4, 2),
    )
    return fdl.Config(
        garage.assemble,
        vehicle,
        functools.partial(garage.drive, speed=3.0),
        polish=True,
    )


def outgrown() -> str:
    text = dumps(config())
    for now, then in FORMERLY:
        text = text.replace(now, then)
    return text.replace("tests.serialize.garage:Wheel", "tests.serialize.garge:Wheel")


def test_every_name_is_told_with_what_it_most_likely_is_now(golden):
    with pytest.raises(UserError) as refused:
        loads(outgrown(), allow=[*HERE, "tests.serialize.garge"])
    golden("serialize/outgrown", "\n".join(refused.value.lines) + "\n")


def test_it_can_be_looked_at_all_the_same():
    text = render(tree(read(outgrown())))
    assert "horsepower = 3" in text and "Vehicel" in text and "Paint.SLIVER" in text


def test_a_name_that_has_moved_is_found_in_the_module_where_it_is():
    text = dumps(fdl.Config(garage.drive, 1)).replace("garage:", "lender:")
    with pytest.raises(UserError) as refused:
        loads(text, allow=[*HERE, "tests.serialize.lender"])
    assert refused.value.lines[1] == (
        "  <root>: tests.serialize.lender has no 'drive', "
        "did you mean 'tests.serialize.garage:drive'?"
    )


@pytest.mark.parametrize(
    ("positional", "said"),
    [
        ("[[0, 1], [1, 2], [2, 3]]", None),
        ("[[1, 2]]", "is given argument 1 by position, but not 0"),
        ("[[0, 1], [2, 2]]", "is given argument 2 by position, but not 1"),
    ],
)
def test_positions_must_follow_one_another(positional, said):
    text = dumps(fdl.Config(garage.assemble, 1)).replace("[[0, 1]]", positional)
    if said is None:
        loads(text, allow=HERE)
        return
    with pytest.raises(UserError) as refused:
        loads(text, allow=HERE)
    assert refused.value.lines[1] == f"  <root>: tests.serialize.garage.assemble {said}"


def test_what_takes_fewer_arguments_by_position_is_told():
    text = (
        '{"schema": "fdlkit.config/1", "root": {"node": 0}, "nodes": [{"kind": '
        '"config", "callable": "tests.serialize.garage:drive", "positional": '
        '[[0, 1], [4, 2]], "arguments": {}}]}'
    )
    with pytest.raises(UserError) as refused:
        loads(text, allow=HERE)
    assert refused.value.lines[1] == (
        "  <root>: tests.serialize.garage.drive takes 2 arguments by position, "
        "and is given argument 4"
    )


def test_of_a_fault_in_many_places_some_are_listed():
    nodes = [fdl.Config(Engine, power=n) for n in range(9)]
    text = dumps(nodes).replace('"power"', '"horsepower"')
    with pytest.raises(UserError) as refused:
        loads(text, allow=HERE)
    what = "tests.serialize.garage.Engine has no parameter 'horsepower'"
    assert [line.split(": ")[0] for line in refused.value.lines[1:6]] == [
        f"  [{n}]" for n in range(5)
    ]
    assert refused.value.lines[6].startswith(f"  in 4 more places: {what}")
