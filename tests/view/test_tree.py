"""The tree as `fdlkit show` prints it, against golden files."""

from __future__ import annotations

import dataclasses
import pathlib
import re
import sys
from typing import Any

import fiddle as fdl
import hypothesis
import pytest
from fiddle import tagging

from fdlkit import printable
from fdlkit.graph.references import ref
from fdlkit.graph.snapshot import snapshot
from fdlkit.overrides.apply import Override, apply
from fdlkit.serialize.reading import read
from fdlkit.serialize.writing import dumps
from fdlkit.view.tree import render, tree
from tests.graph.configs import Box, Norm, Pair, configs


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
def test_the_tree_is_as_in_the_golden_file(name, options, drawn, golden):
    golden(f"view/{name}", render(tree(snapshot(experiment()), **options), **drawn))


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


def test_one_node_many_times_is_marked_as_one():
    node = fdl.Config(Box, a=1)
    text = render(tree(snapshot([node] * 3), defaults=False))
    assert text == (
        "list\n├─ [0] = &1 Box\n│  └─ a = 1\n├─ [1] = *1 Box\n└─ [2] = *1 Box\n"
    )
    text = render(tree(snapshot(dict.fromkeys("ab", node)), defaults=False))
    assert text == ("dict\n├─ ['a'] = &1 Box\n│  └─ a = 1\n└─ ['b'] = *1 Box\n")
    text = render(tree(snapshot([[]] * 2)))
    assert text == "list\n├─ [0] = &1 []\n└─ [1] = *1 list\n"


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


@pytest.mark.parametrize(("name", "width"), [("where", None), ("where_narrow", 60)])
def test_who_wrote_a_value_stands_at_the_end_of_its_line(
    name, width, golden, monkeypatch
):
    config, _ = apply(
        experiment(),
        [
            Override("set", "model.hidden=32"),
            Override("set", "extra.names[0]=z"),
            Override("set", "model.output=Box"),
        ],
        sys.modules[__name__],
    )
    monkeypatch.chdir(pathlib.Path(__file__).parent)
    rows = tree(snapshot(config), defaults=False)
    assert re.fullmatch(r"test_tree\.py:\d+", rows[0].origin)
    rows = [  # the lines of this file move when it is worked on
        dataclasses.replace(row, origin=re.sub(r"\.py:\d+", ".py:N", row.origin))
        for row in rows
    ]
    text = render(rows, where=True, width=width)
    golden(f"view/{name}", text)
    if width is not None:
        assert max(map(len, text.splitlines())) <= width


def test_origins_are_not_shown_unasked():
    assert "test_tree.py" not in render(tree(snapshot(experiment())))


@hypothesis.given(configs())
def test_no_line_is_wider_than_it_may_be(config):
    rows = [row for row in tree(snapshot(config)) if len(row.guides) < 12]
    for line in render(rows, width=40).splitlines():
        assert printable.columns(line) <= 40


def test_a_reference_and_a_long_result_are_both_cut():
    name = "a_" * 30
    config = fdl.Config(dict, **{name: 1}, x=ref(name), long=ref("y"), y="y" * 80)
    lines = render(tree(snapshot(config)), width=30).splitlines()
    assert max(map(len, lines)) <= 30
    assert lines[3] == "├─ long = ref(y) = 'yyyyyyyyy…"


def test_characters_that_take_two_columns_count_twice():
    rows = tree(snapshot(fdl.Config(dict, x="\N{CJK UNIFIED IDEOGRAPH-4E2D}" * 30)))
    line = render(rows, width=30).splitlines()[1]
    assert printable.columns(line) in (29, 30)
    assert len(line) == 19


def test_an_override_that_swaps_what_a_node_calls_is_marked_and_told():
    cfg = fdl.Config(Box, a=fdl.Config(Mlp, width=3), b=[fdl.Config(Mlp, width=3)])
    whole = fdl.Config(Box, a=cfg, b=cfg.a)
    texts = ("a.a=Mesh", "a.b[0]=Mesh")
    changed, _ = apply(
        whole, [Override("set", text) for text in texts], sys.modules[__name__]
    )
    rows = {row.path: row for row in tree(snapshot(changed))}
    assert (rows["a.a"].set_by, rows["a.a"].origin) == ("--fdl_set", "--fdl_set #1")
    assert (rows["a.b[0]"].set_by, rows["a.b[0]"].origin) == (
        "--fdl_set",
        "--fdl_set #2",
    )
    assert rows["b"].set_by == "--fdl_set"  # the same node, which calls it too
    assert rows["<root>"].set_by == rows["a"].set_by == rows["a.b"].set_by == ""
