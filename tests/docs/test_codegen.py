"""docs/codegen.md shows what the program writes."""

from __future__ import annotations

import re
import runpy
import shlex
import sys
from pathlib import Path

import pytest

from fdlkit.cli import main as cli

TEXT = (Path(__file__).parents[2] / "docs" / "codegen.md").read_text(encoding="utf-8")
FILES = re.findall(r"```python\n# (\w+\.py)\n(.*?)```", TEXT, re.DOTALL)
SESSIONS = re.findall(r"```\n\$ fdlkit (.*?)\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture
def project(tmp_path, monkeypatch):
    before_path, before = list(sys.path), set(sys.modules)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    for name, text in FILES:
        Path(name).write_text(text)
    yield tmp_path
    sys.path[:] = before_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.mark.parametrize(("typed", "expected"), SESSIONS, ids=[s[0] for s in SESSIONS])
def test_a_session_on_the_page_is_true(typed, expected, project, capsys):
    code = cli.main(shlex.split(typed))
    out, err = capsys.readouterr()
    assert (err if expected.startswith("error: ") else out) == expected
    assert (code == 2) == expected.startswith("error: ")


def test_the_program_on_the_page_runs(project):
    runpy.run_path("write.py")


def test_the_page_has_blocks_to_run():
    assert [name for name, _ in FILES] == ["mine.py", "write.py"]
    assert len(SESSIONS) >= 3
