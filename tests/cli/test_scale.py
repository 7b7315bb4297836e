"""Every verb, as a program, on a config that is a thousand levels deep and worse."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
TARGET = "tests/graph/shapes.py:everything"
DEEPEST = "cfg['deep nodes']" + ".a" * 1000 + ".x"


def fdlkit(*argv, code=0):
    """What it writes to stdout and stderr; a runaway fails by the timeout."""
    done = subprocess.run(
        [sys.executable, "-m", "fdlkit", *argv],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "NO_COLOR": "1"},
    )
    assert done.returncode == code, done.stderr[-2000:]
    assert "Traceback" not in done.stderr
    return done.stdout, done.stderr


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """The config as JSON, and what `show` says of it."""
    path = tmp_path_factory.mktemp("scale") / "everything.json"
    assert fdlkit("show", TARGET, "--format=json", f"--out={path}") == ("", "")
    return path


def test_the_json_has_a_line_for_each_node_and_is_shown_without_what_it_names(kept):
    rows = fdlkit("show", str(kept))[0].splitlines()
    assert rows[0] == "Root" and len(rows) < 15_000
    assert kept.read_text().count("\n") < 8000


def test_the_tree_has_a_row_a_line_and_a_depth_limit_cuts_it(tmp_path):
    tree = tmp_path / "tree.txt"
    fdlkit("show", TARGET, f"--out={tree}")
    rows = [line for line in tree.read_text().splitlines() if "(default)" not in line]
    assert 6000 < len(rows) < 15_000
    out, _ = fdlkit("show", TARGET, "--depth=2")
    assert 20 < len(out.splitlines()) < 100


def test_overrides_of_every_kind_in_one_go():
    out, err = fdlkit(
        "show",
        TARGET,
        "--depth=1",
        f"--fdl_set={DEEPEST}=5",
        f"--fdl_set={DEEPEST}+=1",
        f"--fdl_set={DEEPEST.removesuffix('.x')}=Crate",
        "--fdl_set=**.x=3",
        "--fdl_tag=Deepest=4",
        "--fdl_fiddler=touch",
        "--fdl_set=~cfg",
    )
    assert "x: int = 99" in out
    assert "**.x=3 set x, cfg['deep nodes'].x" in err
    assert "more" in err and max(map(len, err.splitlines())) < 3000


def test_mistakes_at_depth_are_told_in_a_few_short_lines():
    _, err = fdlkit(
        "show",
        TARGET,
        f"--fdl_set={DEEPEST}=no",
        f"--fdl_set={DEEPEST}y=1",
        f"--fdl_set={DEEPEST}.z=1",
        "--fdl_set=**.nothing=1",
        code=2,
    )
    assert err.count("error: ") == 4
    assert len(err.splitlines()) < 30 and max(map(len, err.splitlines())) < 500


def test_json_that_may_name_nothing_of_it_is_refused_in_a_few_lines(kept):
    out, err = fdlkit("show", str(kept), "--fdl_set=x=1", code=2)
    assert out == "" and "more places: tests.graph.shapes:Box is not allowed" in err
    assert len(err.splitlines()) < 30 and max(map(len, err.splitlines())) < 500


def test_verbs_for_experiments_refuse_it_in_a_line(tmp_path):
    out, err = fdlkit("data", TARGET, code=2)
    assert out == "" and err.splitlines()[0] == f"error: {TARGET} has no data"
    workdir = tmp_path / "run"
    out, err = fdlkit("train", TARGET, f"--workdir={workdir}", code=2)
    assert out == "" and "builds a Root, not an experiment" in err.splitlines()[0]
    assert len(err.splitlines()) < 4 and not workdir.exists()
