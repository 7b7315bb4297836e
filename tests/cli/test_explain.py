"""`fdlkit explain` as a person meets it, and `--where` beside it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from fdlkit.cli.main import main

CONFIGS = """
import dataclasses
import fiddle as fdl
from fiddle import selectors


@dataclasses.dataclass
class Model:
    hidden: int = 4
    inner: "Model | None" = None
    names: tuple = ()


def base(hidden: int = 64) -> fdl.Config[Model]:
    cfg = fdl.Config(Model, hidden=hidden, inner=fdl.Config(Model, hidden=7))
    selectors.select(cfg, Model).set(names=("a",))
    return cfg


def small(cfg, to=1) -> None:
    cfg.hidden = to


def loud() -> fdl.Config[Model]:
    raise ValueError("\\x1b[31mred\\x1b[0m\\nand more")


def louder(cfg) -> None:
    raise ValueError("\\x1b]0;title\\x07")
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    path = tmp_path / "explained_configs.py"
    path.write_text(CONFIGS)
    monkeypatch.chdir(tmp_path)
    return path.name


def test_the_program_answers_on_stdout_with_zero(file, tmp_path):
    command = [sys.executable, "-m", "fdlkit", "explain", f"{file}:base", "hidden"]
    overrides = ["--fdl_fiddler=small(to=3)", "--fdl-set=hidden*=2"]
    env = {"PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.environ["PATH"]}
    result = subprocess.run(
        [*command, *overrides],
        capture_output=True,
        text=True,
        timeout=120,
        env=env,
        cwd=tmp_path,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == (
        "hidden: int = 6\n"
        "  written, oldest first:\n"
        "    default  4   explained_configs.py:9\n"
        "    set      64  explained_configs.py:15\n"
        "    set      3   explained_configs.py:21, by --fdl_fiddler #1: small(to=3)\n"
        "    set      6   --fdl_set #2: hidden*=2\n"
        "  explained_configs.Model (explained_configs.py:8) gets hidden = 6\n"
    )


def test_an_argument_of_the_target_and_every_match_of_two_stars(file, capsys):
    assert main(["explain", f"{file}:base(hidden=5)", "**.hidden"]) == 0
    one, two = capsys.readouterr().out.split("\n\n")
    assert one.startswith("hidden: int = 5\n")
    assert two.startswith("inner.hidden: int = 7\n")


def test_what_a_helper_of_fiddles_set_is_told_with_the_users_line(file, capsys):
    assert main(["explain", f"{file}:base", "inner.names"]) == 0
    assert "set      ('a',)  explained_configs.py:16\n" in capsys.readouterr().out


def test_json_goes_to_stdout(file, capsys):
    assert main(["explain", f"{file}:base", "hidden", "--format=json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    data = json.loads(out)
    assert data["schema"] == "fdlkit.explain/1"
    assert data["explanations"][0]["value"] == "64"


def test_a_wrong_path_is_refused_with_two(file, capsys):
    assert main(["explain", f"{file}:base", "inner.hiden"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        "error: no parameter 'hiden' at inner (explained_configs.Model)\n"
        "  inner.hiden\n"
        "        ^^^^^ did you mean 'hidden'?\n"
        "  parameters: hidden, inner, names\n"
    )


def test_notes_of_the_overrides_stay_on_stderr(file, capsys):
    argv = ["explain", f"{file}:base", "hidden", "--fdl_set=**.hidden=2"]
    assert main(argv) == 0
    assert capsys.readouterr().err == "note: **.hidden=2 set hidden, inner.hidden\n"


def test_a_value_from_a_run_is_said_to_come_from_its_file(file, tmp_path, capsys):
    kept = tmp_path / "run" / "record" / "config.json"
    kept.parent.mkdir(parents=True)
    assert main(["show", f"{file}:base", "--format=json", f"--out={kept}"]) == 0
    allow = "--allow=explained_configs"
    assert main(["explain", "run", "hidden", "--fdl_set=hidden=2", allow]) == 0
    out = capsys.readouterr().out
    assert "set      64  run/record/config.json, which keeps no history\n" in out
    assert "set      2   --fdl_set #1: hidden=2\n" in out
    assert main(["show", "run", "--where"]) == 0
    assert capsys.readouterr().err == "note: run keeps no history of its values\n"


def test_show_where_ends_each_line_with_who_wrote_it(file, capsys):
    argv = ["show", f"{file}:base", "--where", "--fdl_set=inner.hidden=9"]
    assert main(argv) == 0
    assert capsys.readouterr().out == (
        "Model                           explained_configs.py:15\n"
        "├─ hidden: int = 64             explained_configs.py:15\n"
        "├─ inner: Model | None = Model  explained_configs.py:15\n"
        "│  ├─ hidden: int = 9           --fdl_set #1\n"
        "│  ├─ inner: Model | None = None  (default)\n"
        "│  └─ names: tuple = ('a',)     explained_configs.py:16\n"
        "└─ names: tuple = ('a',)        explained_configs.py:16\n"
    )


def test_where_is_for_a_tree(file, capsys):
    assert main(["show", f"{file}:base", "--where", "--format=json"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: --where is for --format=tree")


@pytest.mark.parametrize(
    "argv",
    [
        ["show", "FILE:loud"],
        ["show", "FILE:loud", "--traceback"],
        ["show", "FILE:base", "--fdl_fiddler=louder"],
        ["show", "FILE:base", "--fdl_set=names=\x1b[31m"],
        ["show", "FILE:base", "--fdl_set=hid\x1b[31m=1"],
        ["show", "FILE:\x1b[31m"],
        ["show", "\x1b[31m.py:base"],
        ["show", "FILE:base", "--\x1b[31m"],
        ["explain", "FILE:base", "\x1b[31m"],
        ["\x1b[31m"],
    ],
)
def test_no_text_of_others_reaches_the_terminal_as_it_is(file, argv, capsys):
    assert main([part.replace("FILE", file) for part in argv]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err and all(line.isprintable() for line in err.splitlines())
    assert r"\x1b" in err or "?[31m" in err


def test_an_exception_of_several_lines_keeps_them(file, capsys):
    assert main(["show", f"{file}:loud"]) == 2
    first, second, *_ = capsys.readouterr().err.splitlines()
    assert first == (rf"error: {file}:loud raised ValueError: \x1b[31mred\x1b[0m")
    assert second == "  and more"
