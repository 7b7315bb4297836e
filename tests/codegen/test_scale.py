"""Configs as large and as deep as configs get."""

from __future__ import annotations

import ast

import fiddle as fdl
import pytest

from fdlkit.codegen import described
from fdlkit.codegen.proof import plain_config
from fdlkit.codegen.writing import codegen, unformatted
from fdlkit.graph.build import build
from tests.graph import shapes
from tests.graph.shapes import Box


@pytest.mark.parametrize("style", ["build", "fiddle"])
@pytest.mark.parametrize("kind", shapes.DEEP)
def test_a_thousand_levels_are_written_and_python_takes_them(kind, style):
    text = unformatted(shapes.deep(kind, 1000), style)
    compile(text, "<generated>", "exec")


@pytest.mark.parametrize("style", ["build", "fiddle"])
@pytest.mark.parametrize("kind", shapes.DIAMONDS)
def test_a_diamond_of_thirty_levels_is_written_once(kind, style):
    text = unformatted(shapes.diamond(kind, 30), style)
    assert len(text) < 60_000
    compile(text, "<generated>", "exec")


@pytest.mark.parametrize("style", ["build", "fiddle"])
def test_five_hundred_levels_make_the_same_again(style, evaluated):
    config = shapes.deep("mixed", 500)
    text = codegen(config, style=style)
    if style == "build":
        wanted, made = build(config), evaluated(text, "build")
    else:
        wanted = plain_config(config)
        made = plain_config(evaluated(text, "base"))
    one, two = described.describe(wanted), described.describe(made)
    assert described.difference(one, two) is None


@pytest.mark.parametrize("style", ["build", "fiddle"])
def test_no_expression_is_nested_beyond_what_a_reader_follows(style):
    tree = ast.parse(codegen(shapes.deep("nodes", 300), style=style))
    deepest, todo = (
        0,
        [(node, 0) for node in ast.walk(tree) if isinstance(node, ast.stmt)],
    )
    while todo:
        node, depth = todo.pop()
        depth += isinstance(node, ast.Call)
        deepest = max(deepest, depth)
        todo += [
            (child, depth)
            for child in ast.iter_child_nodes(node)
            if not isinstance(child, ast.stmt)
        ]
    assert 2 < deepest <= 20


@pytest.mark.parametrize("style", ["build", "fiddle"])
def test_twice_the_nodes_make_twice_the_text(style):
    def wide(count):
        return fdl.Config(list, [[fdl.Config(Box, x=n) for n in range(count)]])

    short, long = (len(unformatted(wide(n), style)) for n in (2_000, 4_000))
    assert long < 2.1 * short
