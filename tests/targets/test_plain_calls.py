"""A file of plain constructor calls is read as the config that builds the same."""

from __future__ import annotations

import re

import fiddle as fdl
import pytest

from fdlkit.cli import main as cli
from fdlkit.codegen import described
from fdlkit.codegen.writing import Source, codegen
from fdlkit.errors import UserError
from fdlkit.graph.build import build
from fdlkit.graph.equality import equal
from fdlkit.targets.loading import load
from tests.codegen.shapes import REFUSED, SHAPES
from tests.graph.configs import Box

SOURCE = Source("cfg.py:base", "fdlkit codegen cfg.py:base --style=build --out=x.py")

READ = [shape for shape in SHAPES if (shape, "build") not in REFUSED]

# Not `shared fresh arguments`: whether two arguments that are made anew are one node,
# nobody can see in what is built.
WITHOUT_REFERENCES = [
    *("shared node", "shared list", "shared partial", "partial with arguments"),
    *("fresh arguments", "two classes of one name"),
    *("names of builtins", "keyword-named keys", "variadic", "positional only"),
    *("named tuple of nodes", "flax and optax", "deep", "diamond", "deep factories"),
]


@pytest.fixture
def read(tmp_path):
    def run(config):
        text = codegen(config, style="build", source=SOURCE)
        (tmp_path / "made.py").write_text(text)
        return load(f"{tmp_path / 'made.py'}:build")

    return run


@pytest.mark.parametrize("shape", READ)
def test_what_was_read_builds_the_same(shape, read):
    config = SHAPES[shape]()
    if not isinstance(config, fdl.Buildable) or shape.endswith(("to a default",)):
        config = fdl.Config(Box, a=config)
    again = read(config)
    one, two = described.describe(build(config)), described.describe(build(again))
    assert described.difference(one, two) is None


@pytest.mark.parametrize("shape", WITHOUT_REFERENCES)
def test_without_references_and_tags_it_is_an_equal_config(shape, read):
    config = SHAPES[shape]()
    if not isinstance(config, fdl.Buildable):
        config = fdl.Config(Box, a=config)
    again = read(config)
    for one in (config, again):
        _without_tags(one)
    assert equal(again, config)


def _without_tags(config):
    from fiddle import daglish

    for value, _ in daglish.iterate(config):
        if isinstance(value, fdl.Buildable):
            value.__argument_tags__.clear()


def test_a_value_is_known_by_its_line(tmp_path, read, capsys, monkeypatch):
    read(fdl.Config(Box, a=fdl.Config(Box, b=7)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert cli.main(["explain", "made.py:build", "a.b"]) == 0
    assert re.search(r"set +7 +made\.py:1\d\n", capsys.readouterr().out)


def test_overrides_and_listing_work_on_it(tmp_path, read, capsys, monkeypatch):
    read(fdl.Config(Box, a=fdl.Config(Box, b=7)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert cli.main(["show", "made.py"]) == 0
    assert capsys.readouterr().out.startswith("config   build")
    assert cli.main(["show", "made.py:build", "--fdl_set=a.b=8"]) == 0
    assert "b = 8" in capsys.readouterr().out


def test_a_file_that_does_not_say_so_is_not_read_as_calls(tmp_path):
    (tmp_path / "other.py").write_text("def build():\n    return dict(a=1)\n")
    with pytest.raises(UserError, match="which is no config"):
        load(f"{tmp_path / 'other.py'}:build")
