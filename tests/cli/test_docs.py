"""What docs/cli.md shows of the program is what the program does."""

from __future__ import annotations

import pathlib
import re
import shlex

import pytest

from fdlkit.cli import main as cli

ROOT = pathlib.Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
FENCED = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
BLOCKS = [block for language, block in FENCED if not language]
SESSIONS = [block for block in BLOCKS if block.startswith("$ fdlkit")]


def without_lines(text):
    """Line numbers of a file that is worked on are not worth a failing test."""
    return re.sub(r"\.py:\d+", ".py:N", text)


@pytest.mark.parametrize("session", SESSIONS, ids=lambda s: s.splitlines()[0][9:60])
def test_a_session_in_the_docs_is_true(session, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("COLUMNS", raising=False)  # which a parent may have set
    code = None
    for typed, expected in re.findall(r"^\$ (.*)\n((?:[^$].*\n)*)", session, re.M):
        if typed == "echo $?":
            assert f"{code}\n" == expected
            continue
        code = cli.main(shlex.split(typed)[1:])
        out, err = capsys.readouterr()
        is_refused = expected.startswith("error: ")
        told, other = (err, out) if is_refused else (out, err)
        assert without_lines(told) == without_lines(expected)
        assert other == ""
        assert (code == 2) == is_refused


def test_the_docs_have_such_sessions():
    assert len(SESSIONS) >= 7


def test_the_verbs_of_this_version_are_all_listed_and_no_others():
    first, later = [block for block in BLOCKS if block.startswith("fdlkit ")][:2]
    verbs = {verb.name for verb in cli.VERBS}
    assert set(re.findall(r"^fdlkit ([a-z]+)", first, re.M)) == verbs
    coming = set(re.findall(r"^fdlkit ([a-z]+) +(?![ …])", later, re.M))
    assert not coming & verbs


@pytest.mark.parametrize("verb", [verb.name for verb in cli.VERBS])
def test_every_flag_of_a_verb_is_in_the_docs_and_every_listed_one_is_there(
    verb, capsys
):
    assert cli.main([verb, "--help"]) == 0
    defined = set(re.findall(r"^  --(\w+)", capsys.readouterr().out, re.M))
    first = next(block for block in BLOCKS if block.startswith("fdlkit show"))
    line = next(
        text for text in first.splitlines() if text.startswith(f"fdlkit {verb}")
    )
    listed = set(re.findall(r"--(\w+)", line))
    assert listed <= defined
    everywhere = set(re.findall(r"--(\w+)", TEXT))
    assert defined <= everywhere
    common = {"fdl_set", "fdl_tag", "fdl_fiddler", "allow", "flagfile", "traceback"}
    assert defined - listed <= common
