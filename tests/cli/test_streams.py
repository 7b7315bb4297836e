"""stdout is the answer, whatever a user's file prints and whatever stands in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from fdlkit.cli import main as cli

TALKS = """
import dataclasses
import fiddle as fdl
from fdlkit.data.pipeline import Pipeline

print("imported")


def made():
    print("defaulted")
    return [1]


@dataclasses.dataclass(frozen=True)
class Part:
    size: int = 1
    name: str = ""
    parts: list = dataclasses.field(default_factory=made)


def base() -> fdl.Config[Part]:
    print("called")
    return fdl.Config(Part)


def rows():
    print("built")
    return {"x": [[1], [2]]}


def holds(train_data):
    return train_data


def data():
    return fdl.Config(
        holds, train_data=fdl.Config(Pipeline, source=rows, batch_size=1)
    )


def grown(cfg):
    print("fiddled")
    cfg.size = 3
"""


@pytest.fixture
def talks(tmp_path, monkeypatch):
    (tmp_path / "talks.py").write_text(TALKS)
    monkeypatch.chdir(tmp_path)
    return "talks.py"


def test_what_a_file_prints_is_no_part_of_the_answer(talks, capsys):
    argv = ["show", "talks.py:base", "--format=json", "--fdl_fiddler=grown"]
    assert cli.main([*argv, "--fdl_set=parts+=[2]"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["schema"] == "fdlkit.config/1"
    words = [*dict.fromkeys(err.split())]
    assert words == ["imported", "called", "fiddled", "defaulted"]


def test_nor_is_what_a_default_prints_that_a_tree_shows(talks, capsys):
    assert cli.main(["show", "talks.py:base"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("Part\n")
    assert "defaulted" not in out
    assert "imported" in err


def test_nor_what_is_printed_as_data_is_built(talks, capsys):
    assert cli.main(["data", "talks.py:data", "--n=1"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("train: 2 examples")
    assert "built" in err and "built" not in out


def program(*argv, **environment):
    return subprocess.run(
        [sys.executable, "-m", "fdlkit", *argv],
        capture_output=True,
        timeout=120,
        env={
            "PYTHONPATH": os.pathsep.join(sys.path),
            "PATH": os.environ["PATH"],
            **environment,
        },
    )


def test_a_terminal_that_cannot_draw_a_tree_still_shows_it(talks):
    result = program("show", "talks.py:base", PYTHONIOENCODING="ascii")
    assert result.returncode == 0
    assert rb"\u251c" in result.stdout
    assert b"Traceback" not in result.stderr


def test_bytes_that_are_no_text_are_shown_and_refused_like_any_other(talks):
    shown = program("show", "talks.py:base", b"--fdl_set=name=\xff")
    assert (shown.returncode, shown.stdout.count(rb"\udcff")) == (0, 1)
    for argv in (
        ["show", b"\xff.py:base"],
        ["show", b"talks.py:\xff"],
        ["show", b"\xff"],
        [b"\xff"],
        ["show", "talks.py:base", b"--\xff=1"],
        ["show", "talks.py:base", b"--fdl_set=\xff=1"],
        ["show", "talks.py:base", b"--fdl_set=size=[\xff"],
        ["show", "talks.py:base", b"--fdl_fiddler=\xff"],
        ["show", "talks.py:base", b"--fdl_tag=\xff=1"],
    ):
        assert_refused(argv)


def assert_refused(argv):
    code = cli.main([os.fsdecode(argument) for argument in argv])
    assert code == 2, argv


def test_half_a_surrogate_in_json_is_shown_as_its_escape(tmp_path, capsys):
    path, out = tmp_path / "half.json", tmp_path / "out.json"
    path.write_text(
        '{"schema": "fdlkit.config/1", "root": {"node": 0}, "nodes": [{"kind": '
        '"config", "callable": "a:b", "arguments": {"\\ud800": "\\ud800"}}]}'
    )
    assert cli.main(["show", str(path)]) == 0
    assert r"\ud800" in capsys.readouterr().out
    assert cli.main(["show", str(path), "--format=json", f"--out={out}"]) == 0
    assert json.loads(out.read_text()) == json.loads(path.read_text())


LOUD = """
import os
import sys

import fiddle as fdl

os.system("echo from a program")
os.write(1, b"by number\\n")


def base():
    sys.__stdout__.write("by its own name\\n")
    os.chdir(os.path.dirname(os.getcwd()))
    return fdl.Config(dict, a=1)
"""


def test_neither_is_what_a_program_prints_that_the_file_starts(tmp_path):
    (tmp_path / "loud.py").write_text(LOUD)
    result = in_folder(tmp_path, "show", "loud.py:base")
    assert result.stdout == "dict\n└─ a = 1\n".encode()
    said = result.stderr.splitlines()
    assert {b"from a program", b"by number", b"by its own name"} <= {*said}


def test_a_file_that_goes_elsewhere_does_not_take_the_answer_along(tmp_path):
    folder = tmp_path / "inside"
    folder.mkdir()
    (folder / "loud.py").write_text(LOUD)
    result = in_folder(folder, "show", "loud.py:base", "--out=tree.txt")
    assert result.returncode == 0
    assert (folder / "tree.txt").exists() and not (tmp_path / "tree.txt").exists()


@pytest.mark.parametrize(
    ("redirected", "code", "said"),
    [
        (">&-", 1, b"error: the answer cannot be written: stdout is closed\n"),
        ("2>&-", 0, b""),
        ("--fdl_set=siez=1 2>&-", 2, b""),
        ("--fdl_set=siez=1 2>/dev/full", 2, b""),
        ("--out=tree.txt >&- 2>&-", 0, b""),
    ],
)
def test_a_stream_that_is_closed_or_full_leaves_the_exit_code(
    tmp_path, redirected, code, said
):
    (tmp_path / "quiet.py").write_text(
        "import fiddle as fdl\nfrom parts import Part\n"
        "def base(): return fdl.Config(Part)\n"
    )
    (tmp_path / "parts.py").write_text(
        "import dataclasses\n@dataclasses.dataclass\nclass Part:\n    size: int = 1\n"
    )
    command = f'exec "$0" -m fdlkit show quiet.py:base {redirected}'
    result = subprocess.run(
        ["bash", "-c", command, sys.executable],
        capture_output=True,
        timeout=120,
        cwd=tmp_path,
        env={"PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.environ["PATH"]},
    )
    assert (result.returncode, result.stderr) == (code, said)
    assert (b"Part" in result.stdout) == (code == 0 and "--out" not in redirected)


def test_a_folder_that_is_gone_is_told(tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    command = 'rmdir "$PWD" && exec "$0" -m fdlkit show lm.py:base'
    result = subprocess.run(
        ["bash", "-c", command, sys.executable],
        capture_output=True,
        timeout=120,
        cwd=folder,
        env={"PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.environ["PATH"]},
    )
    assert result.returncode == 2
    assert result.stderr.decode().splitlines() == [
        "error: the current folder is not there any more",
        "  cd to one that is",
    ]


def in_folder(folder, *argv):
    return subprocess.run(
        [sys.executable, "-m", "fdlkit", *argv],
        capture_output=True,
        timeout=120,
        cwd=folder,
        env={"PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.environ["PATH"]},
    )
