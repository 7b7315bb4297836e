"""docs/training.md shows what happens."""

from __future__ import annotations

import doctest
import pathlib
import re
import shlex

import pytest

from fdlkit.cli import main as cli

ROOT = pathlib.Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")


def test_python_answers_as_the_page_says():
    scope: dict[str, object] = {"__name__": "training_md"}
    test = doctest.DocTestParser().get_doctest(TEXT, scope, "training.md", None, 0)
    assert len(test.examples) > 20
    told: list[str] = []
    doctest.DocTestRunner().run(test, out=told.append)
    assert not told, "".join(told)


SESSIONS = re.findall(r"```\n\$ (fdlkit .*)\n((?:.+\n)+?)```", TEXT)


@pytest.mark.parametrize(("typed", "expected"), SESSIONS)
def test_the_program_answers_as_the_page_says(typed, expected, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "200")
    cli.main(shlex.split(typed)[1:])
    assert expected in capsys.readouterr().out


def test_the_page_has_sessions():
    assert len(SESSIONS) == 3
