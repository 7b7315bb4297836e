"""What stands where on a line, asked of the program itself without a shell."""

from __future__ import annotations

import contextlib
import io
import os
import pathlib
import subprocess

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fdlkit.cli.main import main
from fdlkit.completion import files
from fdlkit.completion.candidates import Answer, Candidate
from fdlkit.completion.shells import answer_lines
from fdlkit.completion.words import split
from fdlkit.targets import loading


@pytest.fixture
def offered(folder, environment, shown, monkeypatch, capsys):
    """The words that are offered for the last one of a line, as fish is told them."""
    monkeypatch.chdir(folder)
    for name in ("XDG_CACHE_HOME", "HOME"):
        monkeypatch.setenv(name, environment[name])

    def complete(line):
        assert main(["__complete", "fish", line]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        return [text.partition("\t")[0] for text in out.splitlines() if text]

    return complete


LM = "fdlkit show experiments/lm.py:base "


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("fdlkit ", ["show", "train", "data"]),
        ("fdlkit --v", ["--version"]),
        ("A=1 B= fdlkit sho", ["show"]),
        ("fdlkit show ", ["experiments/", "home/", "my dir/", "runs/"]),
        ("fdlkit show ./exp", ["./experiments/"]),
        ("fdlkit show experiments/", ["experiments/lm.py:"]),
        ("fdlkit show experiments/.", ["experiments/.hidden.py:"]),
        ("fdlkit show runs/", ["runs/empty/", "runs/first"]),
        ("fdlkit show experiments/lm.py:", None),
        ("fdlkit show experiments.lm:basi", ["experiments.lm:basic"]),
        ("fdlkit show no.such.module:", []),
        (f"{LM} --depth ", []),
        (f"{LM} --fdl_set=nam", ["--fdl_set=names."]),
        (f"{LM} --fdl-set=tied=f", ["--fdl-set=tied=false"]),
        (f"{LM} --fdl_set=names.", ["--fdl_set=names.a="]),
        (f"{LM} --fdl_set=~tie", ["--fdl_set=~tied"]),
        (f"{LM} --fdl_set='**.nor", ["--fdl_set=**.norm="]),
        (f"{LM} --fdl_set=layers[0].norm=R", ["--fdl_set=layers[0].norm=RMS"]),
        (f"{LM} --fdl_set=head.norm+=R", ["--fdl_set=head.norm+=RMS"]),
        (f"{LM} --fdl_set head.", ["head.width=", "head.norm=", "head.dropout="]),
        (f"{LM} --fdl_tag=Width=", []),
        (f"{LM} --out f --fdl_set=hea", ["--fdl_set=head."]),
        (f"{LM} -- --fdl_set=hea", []),
        (f"{LM} --trace", ["--traceback"]),
        (f"{LM} > experiments/no", ["experiments/notes.txt"]),
        (f"{LM} 2>> experiments/no", ["experiments/notes.txt"]),
        (
            "fdlkit train --workdir=runs/",
            ["--workdir=runs/empty/", "--workdir=runs/first/"],
        ),
        (
            "fdlkit show experiments/lm.py:base(depth=1) --fdl_set=hea",
            ["--fdl_set=head."],
        ),
        ("fdlkit show experiments/lm.py:basic --fdl_set=", []),
        ("fdlkit show --fdl_set=hea", []),
        ("fdlkit completion ", ["bash", "zsh", "fish"]),
        ("fdlkit completion bash ", []),
        ("fdlkit nothing ", []),
        ("fdlkit show )( --fdl_set=", []),
    ],
)
def test_what_may_stand_at_the_cursor(offered, line, expected):
    found = offered(line)
    if line == "fdlkit ":
        assert set(expected) <= set(found)
    elif expected is None:
        assert found == ["experiments/lm.py:base", "experiments/lm.py:basic"]
    else:
        assert found == expected


def test_a_flag_is_told_as_it_was_begun(offered):
    assert "--dry_run" in offered("fdlkit train x --")
    assert offered("fdlkit train x --dry-") == ["--dry-run"]
    assert offered("fdlkit train x --dry_") == ["--dry_run"]


@pytest.fixture
def program(folder, environment):
    """Runs a verb in a process of its own; gives its exit code and what it said."""

    def run(*argv):
        done = subprocess.run(
            ["fdlkit", *argv],
            cwd=folder,
            env={**environment, "TRACE": environment["TRACE"] + ".other"},
            capture_output=True,
            text=True,
            timeout=120,
        )
        return done.returncode, done.stderr

    return run


def test_an_edit_of_the_file_ends_its_offers_until_a_verb_has_loaded_it(
    offered, program, folder
):
    path = folder / "edited.py"
    path.write_text((folder / "experiments" / "lm.py").read_text())
    line = "fdlkit show edited.py:base --fdl_set=hea"
    assert offered(line) == []
    assert program("show", "edited.py:base") == (0, "")
    assert offered(line) == ["--fdl_set=head."]
    path.write_text(path.read_text() + "\n# edited\n")
    assert offered(line) == []
    path.unlink()


def test_a_json_file_is_offered_once_a_verb_has_loaded_it(offered, program, tmp_path):
    path = tmp_path / "kept.json"
    out = ["--format=json", f"--out={path}"]
    assert program("show", "experiments/lm.py:base", *out) == (0, "")
    assert offered(f"fdlkit show {path} --fdl_set=hea") == []
    change = ["--allow=experiments.lm", "--fdl_set=tied=true"]
    assert program("show", str(path), *change) == (0, "")
    assert offered(f"fdlkit show {path} --fdl_set=hea") == ["--fdl_set=head."]


def test_a_refused_command_keeps_nothing(program, environment, shown):
    cache = pathlib.Path(environment["XDG_CACHE_HOME"])
    before = sorted(cache.rglob("*"))
    code, said = program("show", "experiments/lm.py:basic", "--fdl_set=heda=1")
    assert code == 2
    assert "did you mean 'head'?" in said
    assert sorted(cache.rglob("*")) == before


def test_the_first_line_of_a_docstring_is_told(offered, capsys):
    main(["__complete", "fish", "fdlkit show experiments/lm.py:basi"])
    assert capsys.readouterr().out == "experiments/lm.py:basic\tA smaller one: half.\n"


def test_a_large_folder_is_told_in_part(tmp_path):
    for number in range(600):
        (tmp_path / f"{number:03}.py").touch()
    assert len(files.targets(f"{tmp_path}/").candidates) == 500
    assert len(files.targets(f"{tmp_path}/59").candidates) == 10


def test_a_run_is_where_the_loader_looks_for_one():
    assert str(loading.RUN_CONFIG) == files._RUN_CONFIG


def test_what_would_move_the_cursor_is_not_written_to_the_terminal(tmp_path):
    (tmp_path / "bad\nname.py").touch()
    (tmp_path / "bad\x1b[2Jname.py").touch()
    assert files.targets(f"{tmp_path}/bad").candidates == ()
    answer = Answer((Candidate("a\x1bb"), Candidate("c", "about\n\x1bit")))
    assert answer_lines("fish", split("x")[-1], answer, 0) == ["c\tabout  it"]


@pytest.mark.parametrize(
    ("typed", "replaced", "expected"),
    [
        ("--out=my", 2, [r"my\ dir/"]),  # bash cuts at `=`
        ("--out=my", 8, [r"--out=my\ dir/"]),  # COMP_WORDBREAKS has no `=` in it
        (r"--out=my\ d", 5, [r"my\ dir/"]),
        ('--out="my d', 4, ["my dir/", "my dir/ "]),
        ("--out=", 0, [r"my\ dir/"]),
    ],
)
def test_bash_is_given_what_takes_the_place_of_its_part_of_a_word(
    typed, replaced, expected
):
    answer = Answer((Candidate("--out=my dir/", is_whole=False),))
    assert answer_lines("bash", split(typed)[-1], answer, replaced) == expected


@pytest.mark.parametrize(
    "arguments", [[], ["fish"], ["fsh", "x"], ["bash", "x", "y"], ["bash", "", "-1"]]
)
def test_a_person_who_calls_the_hidden_verb_is_told_so(arguments, capsys):
    assert main(["__complete", *arguments]) == 2
    assert "fdlkit completion SHELL" in capsys.readouterr().err


@given(
    st.sampled_from(["bash", "zsh", "fish"]),
    st.text(max_size=40),
    st.integers(0, 50),
)
@example("bash", "fdlkit show --fdl_set=**.=", 3)
@example("zsh", "fdlkit show ~", 0)
@example("fish", "d[" + "'" * 60, 0)
def test_no_line_is_more_than_it_can_take(shell, text, length):
    for head in ("", "fdlkit show ", "fdlkit show x.py:y --fdl_set="):
        with contextlib.redirect_stdout(io.StringIO()):
            assert main(["__complete", shell, head + text, str(length)]) == 0


def test_a_shell_that_is_not_known_is_refused(capsys):
    assert main(["completion", "fsh"]) == 2
    assert "did you mean 'fish'?" in capsys.readouterr().err


def test_overrides_that_stand_before_count_once_a_verb_has_run_with_them(
    offered, program
):
    target, swap = "experiments/lm.py:base", "--fdl_set=head=Model"
    line = f"fdlkit show {target} {swap}"
    assert offered(f"{line} --fdl_set=head.ti") == []
    assert program("show", target, swap)[0] == 0
    assert offered(f"{line} --fdl_set=head.ti") == ["--fdl_set=head.tied="]
    assert offered(f"{line} --fdl_set tied=true --fdl_set head.ti") == ["head.tied="]
    assert offered(f"fdlkit show {target} --fdl_set=head.ti") == []


def test_in_a_line_of_two_targets_each_flag_is_for_its_own(offered):
    line = "fdlkit diff experiments/lm.py:base experiments/lm.py:basic"
    assert offered(f"{line} --a.fdl_set=hea") == ["--a.fdl_set=head."]
    assert offered(f"{line} --fdl_set=hea") == []
    assert offered(f"{line} --a.fdl_fiddler=nar") == ["--a.fdl_fiddler=narrow"]


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(folder, offered):
    os.mkfifo(folder / "pipe.py")
    assert offered("fdlkit show pipe.py:") == []
    assert offered("fdlkit show pipe.py:base --fdl_set=") == []
