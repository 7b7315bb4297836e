"""Flat text: whole, sorted, and the same in every process."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import fiddle as fdl
import hypothesis

from fdlkit.graph.snapshot import snapshot
from fdlkit.view import flat
from tests.graph.configs import configs
from tests.view import flat_configs

ROOT = pathlib.Path(__file__).parents[2]


def told(config):
    return {line.path: line.text for line in flat.lines(snapshot(config))}


def test_the_text_is_as_in_the_golden_file(golden):
    lines = flat.lines(snapshot(flat_configs.config()))
    golden("view/flat", "\n".join(map(str, lines)) + "\n")


def test_the_text_is_the_same_in_every_process():
    program = (
        "from fdlkit.graph.snapshot import snapshot\n"
        "from fdlkit.view import flat\n"
        "from tests.view import flat_configs\n"
        "print(*flat.lines(snapshot(flat_configs.config())), sep='\\n')"
    )
    texts = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={
                **os.environ,
                "PYTHONHASHSEED": seed,
                "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
            },
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        ).stdout
        for seed in ("1", "2")
    ]
    assert texts[0] == texts[1]
    assert texts[0].count("\n") > 50


def test_indices_and_numbers_in_names_are_ordered_by_value():
    paths = [*told([fdl.Config(dict, b2=1, b10=2)] * 11)]
    assert paths[1:4] == ["[0]", "[0].b2", "[0].b10"]
    assert paths[-2:] == ["[9]", "[10]"]
    assert [*told({10: 1, 9: 1, "a": 1})][1:] == ["[9]", "[10]", "['a']"]


def test_what_is_shared_is_told_by_the_path_that_comes_first():
    node = fdl.Config(dict, x=1)
    lines = told(fdl.Config(dict, b=node, a=node))
    assert lines["a"] == "builtins.dict"
    assert lines["a.x"] == "1"
    assert lines["b"] == "shared with a"
    assert "b.x" not in lines


def test_equal_tuples_are_not_shared():
    pair = ((1, 2), (3,))
    lines = told([pair, pair])
    assert lines["[0]"] == lines["[1]"] == "tuple"
    assert lines["[0][1]"] == lines["[1][1]"] == "(3,)"


def test_defaults_are_told_and_marked():
    lines = told(fdl.Config(flat_configs.Layer))
    assert lines["width"] == "8  (default)"
    assert lines["activation"] == "jax.nn.gelu  (default)"
    lines = told(fdl.Config(flat_configs.Layer, width=8))
    assert lines["width"] == "8"


def test_a_long_path_or_a_diamond_costs_its_nodes():
    chain = diamond = fdl.Config(dict)
    pairs: tuple = (1, 2)
    for _ in range(30):
        diamond = fdl.Config(dict, a=diamond, b=diamond)
        pairs = (pairs, pairs)
    for _ in range(1000):
        chain = fdl.Config(dict, a=chain)
    assert len(told(chain)) == 1001
    assert len(told(diamond)) == 61
    assert len(told(pairs)) < 300


@hypothesis.given(configs())
def test_a_line_a_path_and_no_path_twice(config):
    lines = flat.lines(snapshot(config))
    assert len({line.path for line in lines}) == len(lines)
    assert all(str(line).isprintable() for line in lines)


@hypothesis.given(configs())
def test_lines_are_where_their_keys_belong(config):
    # Whatever the order in which arguments were set, text is the same.
    graph = snapshot(config)
    assert [*map(str, flat.lines(graph))] == [*map(str, flat.lines(graph))]
