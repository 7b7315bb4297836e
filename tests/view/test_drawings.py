"""A scene in the languages of drawing programs, against golden files and drawn."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
from xml.etree import ElementTree

import hypothesis
import pytest

from fdlkit.errors import RunFailedError, UserError
from fdlkit.graph.snapshot import snapshot
from fdlkit.view import picture
from fdlkit.view.dot import dot
from fdlkit.view.mermaid import mermaid
from fdlkit.view.scene import scene
from tests.graph.configs import configs
from tests.view.scenes import ESCAPE, TURN, hostile, large, small

DRAWN = pathlib.Path(__file__).parent / "drawn"


@pytest.mark.parametrize("depth", [None, 1])
@pytest.mark.parametrize(("language", "ending"), [(dot, "gv"), (mermaid, "mmd")])
def test_a_drawing_is_as_in_the_golden_file(language, ending, depth):
    name = f"small{'' if depth is None else f'_{depth}'}.{ending}"
    text = language(scene(snapshot(small()), depth=depth))
    assert text == (DRAWN / name).read_text(encoding="utf-8")


@hypothesis.given(configs())
def test_every_box_and_edge_is_in_the_text(config):
    drawn = scene(snapshot(config))
    assert len(re.findall(r"^\tn\d+ \[label", dot(drawn), re.M)) == len(drawn.boxes)
    assert len(re.findall(r"^\tn\d+:\w+:[ew] -> ", dot(drawn), re.M)) == len(
        drawn.edges
    )
    chart = mermaid(drawn)
    assert len(re.findall(r'^ +n\d+\["<b>', chart, re.M)) == len(drawn.boxes)
    assert len(re.findall(r"^ +n\d+ -\.?->?", chart, re.M)) == len(drawn.edges)


def test_nothing_in_a_value_breaks_a_drawing():
    drawn = scene(snapshot(hostile()))
    for text in (dot(drawn), mermaid(drawn)):
        assert "<script" not in text
        assert ESCAPE not in text and TURN not in text and "\0" not in text
        assert len(text) < 20_000
        text.encode()
    labels = re.findall(r'\["(.*)"\]$', mermaid(drawn), re.M)
    assert len(labels) == len(drawn.boxes)
    assert not any('"' in label or "`" in label for label in labels)


@pytest.mark.parametrize("name", ["wide", "tall"])
def test_a_text_costs_what_its_nodes_cost(name):
    drawn = scene(large(name))
    assert len(dot(drawn)) < 1500 * len(drawn.boxes)
    assert len(mermaid(drawn)) < 500 * len(drawn.boxes)


def has_program():
    try:
        return bool(picture.find_program())
    except UserError:
        return False


needs_program = pytest.mark.skipif(
    not has_program(), reason="no program that draws: neither dot nor graphviz-pure"
)


@needs_program
@pytest.mark.parametrize("make", [small, hostile])
def test_an_svg_has_a_shape_for_every_box_and_edge(make):
    drawn = scene(snapshot(make()))
    svg = picture.draw(dot(drawn), kind="svg", program=picture.find_program())
    root = ElementTree.fromstring(svg)
    kinds = [g.get("class") for g in root.iter("{http://www.w3.org/2000/svg}g")]
    assert kinds.count("node") == len(drawn.boxes)
    assert kinds.count("edge") == len(drawn.edges)
    assert not list(root.iter("{http://www.w3.org/2000/svg}script"))
    shown = "".join(root.itertext())
    assert "Mlp" in shown if make is small else r"\\N \\G" in shown


@needs_program
def test_a_png_is_a_png():
    text = dot(scene(snapshot(small())))
    png = picture.draw(text, kind="png", program=picture.find_program())
    assert png.startswith(b"\x89PNG\r\n\x1a\n")


@pytest.fixture
def program(tmp_path):
    """Makes a program that stands for one that draws."""

    def make(name: str, script: str) -> str:
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return str(path)

    return make


def test_dot_is_preferred_and_one_beside_python_is_found(
    program, tmp_path, monkeypatch
):
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(UserError) as refused:
        picture.find_program()
    assert refused.value.exit_code == 2
    assert "pip install 'fdlkit[viz]'" in refused.value.lines[1]
    port = program("graphviz-pure", "")
    assert picture.find_program() == port
    monkeypatch.setenv("PATH", str(tmp_path))
    assert picture.find_program() == port
    graphviz = program("dot", "")
    assert picture.find_program() == graphviz


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo 'syntax error' >&2; exit 3", "ended with status 3\n  syntax error"),
        ("cat >/dev/null", "drew nothing"),
    ],
)
def test_a_program_that_fails_is_told(program, script, said):
    with pytest.raises(RunFailedError) as failed:
        picture.draw("digraph {}", kind="svg", program=program("dot", script))
    assert said in str(failed.value) and failed.value.exit_code == 1


def test_texts_need_no_program_and_no_jax():
    code = (
        "import sys\n"
        "from fdlkit.view import dot, mermaid, page, scene\n"
        "from fdlkit import snapshot\n"
        "drawn = scene.scene(snapshot([1, []]))\n"
        "assert dot.dot(drawn) and mermaid.mermaid(drawn) and page.page(drawn, 'x')\n"
        "print(sorted({'jax', 'flax', 'IPython'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
        env={"PATH": "", "PYTHONPATH": ":".join(sys.path)}, check=False,
    )  # fmt: skip
    assert done.stdout == "[]\n", done.stderr
