"""`fdlkit codegen`: a file that was proven, or none."""

from __future__ import annotations

import shutil

import pytest

from fdlkit.cli import main as cli
from tests.cli.sessions import SMALL

PLAIN = '''
import dataclasses
import fiddle as fdl

@dataclasses.dataclass
class Ratio:
    over: int
    under: int = 1

def base():
    """A half."""
    return fdl.Config(dict, half=fdl.Config(Ratio, 1, under=2), n=3)

def wide(cfg):
    cfg.n = 5
'''


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "plain.py").write_text(PLAIN)
    (tmp_path / "small.py").write_text(SMALL)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("style", ["build", "fiddle"])
def test_a_file_appears_and_is_a_target_again(style, project, capsys):
    argv = ["codegen", "plain.py:base", f"--style={style}", "--out=made.py"]
    assert cli.main([*argv, "--fdl_set=n=4", "--fdl_fiddler=wide"]) == 0
    text = (project / "made.py").read_text()
    assert "n=5" in text and "--fdl_set=n=4 --fdl_fiddler=wide" in text
    assert capsys.readouterr().out == ""
    name = "build" if style == "build" else "base"
    assert cli.main(["show", f"made.py:{name}"]) == 0
    assert "n = 5" in capsys.readouterr().out
    diff = ["diff", "plain.py:base", f"made.py:{name}", "--fdl_set=n=3"]
    assert cli.main(diff) == 0
    assert sorted(p.name for p in project.iterdir() if p.suffix == ".py") == [
        *("made.py", "plain.py", "small.py")
    ]


def test_the_answer_may_go_to_stdout(project, capsys):
    assert cli.main(["codegen", "plain.py:base", "--style=build", "--out=-"]) == 0
    assert capsys.readouterr().out.startswith('"""What `plain.py:base` builds')


def test_a_file_that_is_there_stays_when_the_proof_fails(project, capsys):
    (project / "plain.py").write_text(
        PLAIN.replace("Ratio, 1, under=2", "Ratio, fdl.Config(Once)")
        + "\nclass Once(int):\n"
        "    def __new__(cls): return int.__new__(cls, __import__('os').getpid())\n"
    )
    (project / "made.py").write_text("before")
    argv = ["codegen", "plain.py:base", "--style=build", "--out=made.py"]
    assert cli.main(argv) == 1
    assert (project / "made.py").read_text() == "before"
    assert not [p for p in project.iterdir() if p.name.startswith(".made")]


def test_a_failed_proof_is_told_and_leaves_no_file(project, capsys):
    (project / "plain.py").write_text(
        "import os\nimport fiddle as fdl\n\n"
        "class Process:\n    def __init__(self): self.number = os.getpid()\n\n"
        "def base():\n    return fdl.Config(dict, a=fdl.Config(Process))\n"
    )
    argv = ["codegen", "plain.py:base", "--style=build", "--out=made.py"]
    assert cli.main(argv) == 1
    err = capsys.readouterr().err
    assert err.startswith("error: the generated code makes something else")
    assert "  at ['a'].number\n" in err
    assert not (project / "made.py").exists()
    assert cli.main([*argv, "--verify=false"]) == 0
    assert (project / "made.py").exists()


def test_without_a_target_the_only_experiment_is_meant(project, capsys):
    (project / "experiments").mkdir()
    argv = ["codegen", "--out=made.py", "--style=fiddle"]
    assert cli.main(argv) == 2
    assert "there is no experiment in experiments/" in capsys.readouterr().err
    shutil.copy(project / "small.py", project / "experiments" / "small.py")
    assert cli.main(argv) == 2  # `T` and `base`
    told = capsys.readouterr().err
    assert "which experiment" in told and "experiments/small.py:T" in told
    text = SMALL.replace("def base() -> fdl.Config[Trainer]", "def base() -> int")
    (project / "experiments" / "small.py").write_text(text)
    assert cli.main(argv) == 0
    made = (project / "made.py").read_text()
    assert "fdlkit codegen experiments/small.py:T --out=made.py --style=fiddle" in made
    assert "def T() -> fdl.Config[Trainer]:" in made


def test_comments_say_who_wrote_a_value(project):
    argv = ["codegen", "plain.py:base", "--style=fiddle", "--out=made.py"]
    assert cli.main([*argv, "--comments=origin", "--fdl_set=n=4"]) == 0
    text = (project / "made.py").read_text()
    assert "# plain.py:12" in text and "n=4,  # from --fdl_set" in text


def test_a_constructor_that_changes_the_folder_does_not_move_the_file(project, capsys):
    (project / "away").mkdir()
    (project / "plain.py").write_text(
        "import os\nimport fiddle as fdl\n\n"
        "class Mover:\n    def __init__(self, to): os.chdir(to)\n\n"
        f"def base():\n    return fdl.Config(Mover, to={str(project / 'away')!r})\n"
    )
    argv = ["codegen", "plain.py:base", "--style=build", "--out=made.py"]
    assert cli.main(argv) == 0, capsys.readouterr().err
    assert (project / "made.py").is_file()
    assert list((project / "away").iterdir()) == []


@pytest.mark.parametrize("out", ["plain.py", "link.py"])
@pytest.mark.parametrize("argv", [["codegen", "--style=fiddle"], ["show"]])
def test_the_file_that_defines_the_config_is_never_replaced(argv, out, project, capsys):
    (project / "link.py").symlink_to("plain.py")
    verb, *flags = argv
    assert cli.main([verb, "plain.py:base", *flags, f"--out={out}"]) == 2
    said = capsys.readouterr().err
    assert f"error: cannot write {out}: the answer is made from it" in said
    assert (project / "plain.py").read_text() == PLAIN
    assert sorted(p.name for p in project.iterdir() if p.suffix == ".py") == [
        *("link.py", "plain.py", "small.py")
    ]


@pytest.mark.parametrize("argv", [["codegen", "--style=fiddle"], ["show"]])
def test_the_json_that_is_the_target_is_never_replaced(argv, project, capsys):
    assert cli.main(["show", "plain.py:base", "--format=json", "--out=kept.json"]) == 0
    before = (project / "kept.json").read_text()
    (project / "link").symlink_to("kept.json")
    verb, *flags = argv
    for out in ("kept.json", "link"):
        assert cli.main([verb, "./kept.json", *flags, f"--out={out}"]) == 2
        said = capsys.readouterr().err
        assert f"error: cannot write {out}: the answer is made from it" in said
    assert (project / "kept.json").read_text() == before


def test_a_listing_never_replaces_what_it_lists(project, capsys):
    assert cli.main(["show", "plain.py", "--out=plain.py"]) == 2
    assert "the answer is made from it" in capsys.readouterr().err
    assert (project / "plain.py").read_text() == PLAIN
