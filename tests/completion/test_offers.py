"""What a loaded config offers: paths a step at a time, choices, tags."""

from __future__ import annotations

import dataclasses
import enum
import typing

import fiddle as fdl
import pytest
from fiddle import Buildable

from fdlkit import ref
from fdlkit.completion import offers
from fdlkit.completion.collecting import choices, collect


class Norm(enum.Enum):
    RMS = 1
    LAYER = 2


class Size(fdl.Tag):
    """A size."""


class Width(Size):
    """A width."""


@dataclasses.dataclass(frozen=True)
class Layer:
    width: int = 8
    norm: Norm | None = Norm.RMS


def a_list():
    raise AssertionError("a factory was called")


@dataclasses.dataclass(frozen=True)
class Model:
    layers: list[Layer] = dataclasses.field(default_factory=a_list)
    head: Layer = dataclasses.field(default_factory=Layer)
    made: Layer = Layer(width=3)
    modes: list[typing.Literal["a", "b"]] = dataclasses.field(default_factory=a_list)
    names: dict = dataclasses.field(default_factory=dict)
    tied: bool = False


def anything(*values, **named):
    return values, named


@pytest.fixture
def config():
    layer = fdl.Config(Layer)
    fdl.add_tag(layer, "norm", Width)
    return fdl.Config(
        Model,
        layers=[layer, fdl.Config(Layer, width=ref("layers[0].width")), layer],
        modes=["a"],
        names={"a": fdl.Config(Layer), "b c": 1, 7: 2, None: 3},
    )


@pytest.fixture
def offered(config):
    return collect(config)


def values(answer):
    return [candidate.value for candidate in answer.candidates]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("", ["layers.", "head.", "made.", "modes.", "names.", "tied="]),
        ("m", ["made.", "modes."]),
        ("ti", ["tied="]),
        ("layers.", ["layers.0.", "layers.1.", "layers.2."]),
        ("layers.2.w", ["layers.2.width="]),
        ("layers[0].w", ["layers[0].width="]),
        ("layers[-1].w", ["layers[-1].width="]),
        ("head.", ["head.width=", "head.norm="]),
        ("made.n", ["made.norm="]),
        ("modes.", ["modes.0="]),
        ("names.", ["names.a.", "names.7="]),
        ("names.a.w", ["names.a.width="]),
        ("**.wi", ["**.width="]),
        ("...no", ["...norm="]),
        ("layers.**.", ["layers.**.width=", "layers.**.norm="]),
        ("layers.1.width.", []),
        ("nothing.", []),
        ("layers.9.", []),
        ("layers[", []),
        ("..", []),
    ],
)
def test_a_path_goes_on_by_one_step(offered, typed, expected):
    assert values(offered.paths(typed, then="=")) == expected


def test_a_path_alone_is_a_whole_word(offered):
    (tied,) = offered.paths("ti", then="").candidates
    assert (tied.value, tied.is_whole, tied.about) == ("tied", True, "bool")


@pytest.mark.parametrize(
    ("path", "typed", "expected"),
    [
        ("tied", "", ["true", "false"]),
        ("tied", "T", ["true"]),
        ("head.norm", "", ["RMS", "LAYER", "None"]),
        ("head.norm", "l", ["LAYER"]),
        ("modes[0]", "", ["a", "b"]),
        ("**.norm", "R", ["RMS"]),
        ("head.width", "", []),
        ("no.such", "", []),
        ("**", "", []),
    ],
)
def test_a_value_is_one_of_its_choices(offered, path, typed, expected):
    assert values(offered.values(path, typed)) == expected


def test_a_tag_and_what_it_is_derived_from_are_offered(offered):
    assert values(offered.tag_names("")) == ["Size=", "Width="]
    assert values(offered.tag_values("Width", "R")) == ["RMS"]
    assert values(offered.tag_values("pkg.mod.Size", "")) == ["RMS", "LAYER", "None"]
    assert values(offered.tag_values("Other", "")) == []


def test_positional_arguments_and_open_names_are_steps():
    config = fdl.Config(anything, fdl.Config(Layer), 2, extra=fdl.Config(Layer))
    offered = collect(config)
    assert values(offered.paths("", then="=")) == ["0.", "1=", "extra."]
    assert values(offered.paths("0.w", then="=")) == ["0.width="]


@pytest.mark.parametrize(
    ("annotation", "name", "expected"),
    [
        (bool, "x", ("true", "false")),
        (bool | None, "x", ("true", "false", "None")),
        (int | None, "x", ()),
        (typing.Literal["a", 1], "x", ("a", "1")),
        (typing.Annotated[Norm, "doc"], "x", ("RMS", "LAYER")),
        (typing.Any, "x", ()),
        ("a name that nobody knows", "x", ()),
        (list[bool], "x", ()),
    ],
)
def test_choices_are_those_of_the_annotation(annotation, name, expected):
    assert choices(annotation, name) == expected


def test_a_dtype_is_one_of_numpys_and_jaxs():
    assert {"bfloat16", "float32"} <= set(choices(typing.Any, "param_dtype"))


def test_offers_are_written_and_read_back(offered):
    assert offers.from_data(offers.to_data(offered)) == offered


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: None,
        lambda data: {**data, "schema": "other"},
        lambda data: {**data, "nodes": [[["a", 99, None]]]},
        lambda data: {**data, "nodes": [[["a", 0, 99]]]},
        lambda data: {**data, "nodes": []},
        lambda data: {**data, "tags": 3},
        lambda data: {**data, "wanted": [None]},
    ],
)
def test_what_is_damaged_is_not_read(offered, damage):
    assert offers.from_data(damage(offers.to_data(offered))) is None


def test_a_deep_and_a_wide_config_are_kept_up_to_a_bound():
    deep: Buildable = fdl.Config(Layer)
    for _ in range(2_000):
        deep = fdl.Config(anything, below=deep)
    path = ".".join(["below"] * 2_000)
    assert values(collect(deep).paths(f"{path}.w", then="=")) == [f"{path}.width="]
    wide = fdl.Config(anything, xs=list(range(100_000)))
    assert sum(map(len, collect(wide).nodes)) <= 5_000


def test_a_diamond_is_there_once():
    top = fdl.Config(Layer)
    for _ in range(40):
        top = fdl.Config(anything, left=top, right=top)
    assert len(collect(top).nodes) == 41


def test_a_config_that_contains_itself_ends():
    config = fdl.Config(anything)
    config.itself = [config]
    assert values(collect(config).paths("itself.0.", then="=")) == ["itself.0.itself."]
