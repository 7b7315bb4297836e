"""The program as a person meets it: exit codes, streams, and what is not loaded."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from fdlkit.cli import main as cli

CONFIGS = '''
"""Two configs."""
import dataclasses
import fiddle as fdl


@dataclasses.dataclass
class Model:
    hidden: int = 4
    depth: int = 2


def base() -> fdl.Config[Model]:
    """The usual one."""
    return fdl.Config(Model, hidden=64)


def small(cfg) -> None:
    """Makes it small."""
    cfg.hidden = 1
'''


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "two_configs.py"
    path.write_text(CONFIGS)
    return path


def program(*argv, code="", **options):
    command = [sys.executable, "-m", "fdlkit", *argv]
    if code:
        command = [sys.executable, "-c", code]
    env = {"PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.environ["PATH"]}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, env=env, **options
    )


def test_the_program_refuses_with_two_and_says_why_on_stderr(file):
    result = program("show", f"{file}:base", "--fdl_set=hiden=256")
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr == (
        "error: no parameter 'hiden' at <root> (two_configs.Model)\n"
        "  --fdl_set=hiden=256\n"
        "            ^^^^^ did you mean 'hidden'?\n"
        "  parameters: hidden, depth\n"
    )


def test_a_reader_that_stops_reading_is_no_error(file):
    command = f"{sys.executable} -m fdlkit --help | head -c 1; echo ${{PIPESTATUS[0]}}"
    env = {"PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.environ["PATH"]}
    result = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, env=env, timeout=120
    )
    assert result.stderr == ""
    assert result.stdout.endswith("0\n")


def test_without_a_verb_the_overview_goes_to_stderr(capsys):
    assert cli.main([]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "verbs:" in err


def test_help_goes_to_stdout(capsys):
    assert cli.main(["--help"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    for verb in cli.VERBS:
        assert f"  {verb.name} " in out


@pytest.mark.parametrize("verb", cli.VERBS, ids=lambda verb: verb.name)
def test_every_verb_has_its_help(verb, capsys):
    assert cli.main([verb.name, "--help"]) == 0
    usage = f"usage: fdlkit {verb.name} {verb.usage}"
    assert capsys.readouterr().out.startswith(usage)


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (["shwo"], "  did you mean 'show'?"),
        (["trian", "x"], "  did you mean 'train'?"),
        (["--verbose"], f"  verbs: {', '.join(v.name for v in cli.VERBS)}"),
        (["show"], "  usage: fdlkit show TARGET [flags]"),
        (["explain"], "  usage: fdlkit explain TARGET PATH [flags]"),
        (["explain", "x"], "  fdlkit explain x PATH"),
        (["explain", "x", "a", "b"], "  usage: fdlkit explain TARGET PATH [flags]"),
        (["show", "x.py", "--where"], "  fdlkit show x.py    lists its configs"),
        (["train", "x"], "  fdlkit train x --workdir=DIR"),
        (["train", "x", "--workdir=w", "--fesh"], "  did you mean '--fresh'?"),
        (["data", "no_such.py:base"], "error: no file no_such.py"),
    ],
)
def test_what_cannot_be_run_is_refused_with_two(argv, line, capsys):
    assert cli.main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert line in err.splitlines()


def test_several_processes_need_all_three_flags(capsys):
    assert cli.main(["train", "x", "--workdir=w", "--num_processes=2"]) == 2
    assert "also needs --coordinator and --process_id" in capsys.readouterr().err


def test_traceback_shows_where_an_error_comes_from(capsys):
    assert cli.main(["data", "no_such.py:base", "--traceback"]) == 2
    assert "Traceback (most recent call last):" in capsys.readouterr().err


def test_an_interrupt_is_130(monkeypatch, capsys):
    def interrupt(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_dispatch", interrupt)
    assert cli.main(["show"]) == 130
    assert capsys.readouterr().err == "interrupted\n"
