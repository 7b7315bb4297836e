"""docs/tutorial.md does what it says, from top to bottom."""

from __future__ import annotations

import doctest
import re
import shlex
import sys
from pathlib import Path

import pytest

from fdlkit.cli import main as cli

TEXT = (Path(__file__).parents[2] / "docs" / "tutorial.md").read_text(encoding="utf-8")
SESSION = re.compile(r"^\$ (fdlkit .*)\n((?:(?!\$ |```).*\n)*)", re.MULTILINE)


@pytest.fixture
def project(tmp_path, monkeypatch):
    before_path, before = list(sys.path), set(sys.modules)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (file,) = re.findall(r"```python\n# curve\.py\n(.*?)```", TEXT, re.DOTALL)
    Path("curve.py").write_text(file)
    yield tmp_path
    sys.path[:] = before_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def test_python_answers_as_the_page_says(project):
    scope: dict[str, object] = {"__name__": "tutorial_md"}
    test = doctest.DocTestParser().get_doctest(TEXT, scope, "tutorial.md", None, 0)
    assert len(test.examples) > 50
    told: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=told.append)
    assert not told, "".join(told)


def test_the_program_answers_as_the_page_says(project, capsys):
    sessions = SESSION.findall(TEXT)
    assert len(sessions) >= 3
    for typed, expected in sessions:
        code = cli.main(shlex.split(typed)[1:])
        out, err = capsys.readouterr()
        assert (typed, lines_of_optax_cut(out or err)) == (
            typed,
            lines_of_optax_cut(expected),
        )
        assert code == 0


def lines_of_optax_cut(text: str) -> str:
    """The text without the numbers of lines that are not ours: releases differ."""
    return re.sub(r"(\boptax/[\w/]+\.py):\d+", r"\1", text)
