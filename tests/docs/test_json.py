"""docs/json.md shows what happens."""

from __future__ import annotations

import doctest
import pathlib
import re
import shlex

import pytest

from fdlkit.cli import main as cli

ROOT = pathlib.Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")


@pytest.fixture
def at_root(monkeypatch):
    """The page is read from the top of the repository."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "120")


def test_python_answers_as_the_page_says(at_root):
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) >= 5
    scope: dict[str, object] = {}
    told: list[str] = []
    for block in blocks:
        test = doctest.DocTestParser().get_doctest(block, scope, "json.md", None, 0)
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        runner.run(test, out=told.append, clear_globs=False)
        scope = test.globs
    assert not told, "".join(told)


def test_the_program_answers_as_the_page_says(at_root, capsys):
    (session,) = re.findall(r"```\n(\$ fdlkit.*?)```", TEXT, re.DOTALL)
    for typed, expected in re.findall(r"^\$ (.*)\n((?:[^$].*\n)*)", session, re.M):
        code = cli.main(shlex.split(typed)[1:])
        out, err = capsys.readouterr()
        is_refused = expected.startswith("error: ")
        assert (err if is_refused else out) == expected
        assert (code == 2) == is_refused
