"""The tree as `fdlkit show` prints it, against golden files beside this one."""

from __future__ import annotations

import dataclasses
import pathlib
import re
from typing import Any

import fiddle as fdl
import hypothesis
import pytest
from fiddle import tagging

from fdlkit.graph.references import ref
from fdlkit.graph.snapshot import snapshot
from fdlkit.serialize.reading import read
from fdlkit.serialize.writing import dumps
from fdlkit.view.tree import render, tree
from tests.graph.configs import Box, Norm, Pair, configs

GOLDEN = pathlib.Path(__file__).parent / "golden"


class WeightDType(fdl.Tag):
    """The type of weights."""


@dataclasses.dataclass
class Mlp:
    width: int
    dropout: float = 0.1


@dataclasses.dataclass
class Model:
    hidden: int
    embed: Any
    block: Mlp
    output: Any = None
    dtype: type = float
    norm: Norm = Norm.LAYER


@dataclasses.dataclass
class Mesh:
    fsdp: int = 1


@dataclasses.dataclass
class Trainer:
    model: Model
    optimizer: Any
    num_train_steps: int = 100
    mesh: Mesh = dataclasses.field(default_factory=Mesh)
    extra: Any = None


def schedule(peak: float, steps: int, final: float = 0.0):
    return peak, steps, final


def experiment():
    embed = fdl.Config(Box, a=256, b=ref("^hidden"))
    model = fdl.Config(
        Model, hidden=64, embed=embed, block=fdl.Config(Mlp, ref("^hidden") * 4),
        output=embed,
    )  # fmt: skip
    fdl.add_tag(model, "dtype", WeightDType)
    names = ["a", "b"]
    return fdl.Config(
        Trainer,
        model=model,
        optimizer=fdl.Partial(schedule, 1e-3, ref("num_train_steps") // 3),
        num_train_steps=1000,
        extra={
            "names": names, "again": names, "pair": Pair(1, Norm.RMS), "empty": [],
            "lost": [ref("model.hiden"), 1], "node": ref("model.embed"),
            "tagged": [tagging.TaggedValue(tags=[WeightDType], default=int)],
            "text": "x" * 100, "missing": fdl.Config(Mlp),
        },
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "options", "drawn"),
    [
        ("whole", {}, {}),
        ("depth", {"depth": 1}, {}),
        ("no_defaults", {"defaults": False}, {}),
        ("narrow", {}, {"width": 40}),
    ],
)
def test_the_tree_is_as_in_the_golden_file(name, options, drawn):
    text = render(tree(snapshot(experiment()), **options), **drawn)
    assert text == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


def test_a_config_from_json_shows_the_same_but_for_defaults_and_types():
    config = experiment()

    def told(rows):
        return [
            (row.path, row.mark, row.value, row.result.strip("?"), row.tags, row.kind)
            for row in rows
            if row.kind not in ("default", "unset")
        ]

    assert told(tree(read(dumps(config)))) == told(tree(snapshot(config)))


@hypothesis.given(configs())
def test_colour_changes_nothing_but_escapes(config):
    rows = tree(snapshot(config))
    for width in (None, 30):
        colored = render(rows, color=True, width=width)
        assert re.sub(r"\x1b\[\d+m", "", colored) == render(rows, width=width)


@hypothesis.given(configs())
def test_a_row_a_path_and_no_path_twice(config):
    rows = tree(snapshot(config))
    assert len({row.path for row in rows}) == len(rows)
    assert render(rows).count("\n") == len(rows)


def test_a_line_is_cut_only_when_a_width_is_given():
    rows = tree(snapshot(fdl.Config(Box, a="x" * 200)))
    assert "x" * 200 in render(rows)
    lines = render(rows, width=50).splitlines()
    assert max(map(len, lines)) == 50 and lines[1].endswith("xx…")


def test_what_is_shared_is_marked_and_shown_once():
    node, items = fdl.Config(Box, a=1), [1]
    text = render(tree(snapshot([node, items, node, items]), defaults=False))
    assert text == (
        "list\n├─ [0] = &1 Box\n│  └─ a = 1\n├─ [1] = &2 [1]\n"
        "├─ [2] = *1 Box\n└─ [3] = *2 list\n"
    )


def test_depth_and_diamonds_cost_their_node_count():
    chain = diamond = fdl.Config(Box)
    for _ in range(3000):
        chain = fdl.Config(Box, a=chain)
    for _ in range(30):
        diamond = fdl.Config(Box, a=diamond, b=diamond)
    assert len(tree(snapshot(chain), defaults=False)) == 3001
    assert len(tree(snapshot(diamond), defaults=False)) == 61


class Loud:
    def __repr__(self):
        return "\x1b[31mloud\N{RIGHT-TO-LEFT OVERRIDE}"


def test_nothing_in_a_config_reaches_the_terminal_as_a_command():
    config = fdl.Config(dict, **{"\x1b[2J": 1}, loud=Loud())
    assert render(tree(snapshot(config))) == (
        "dict\n├─ \\x1b[2J = 1\n└─ loud = \\x1b[31mloud\\u202e\n"
    )


def test_a_plain_value_is_a_row():
    assert render(tree(snapshot(3))) == "3\n"
    assert render(tree(snapshot([]))) == "[]\n"
