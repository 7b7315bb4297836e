"""`fdlkit.display`: a page in a notebook, a tree anywhere else."""

from __future__ import annotations

import html
import re
import subprocess
import sys
import types

import pytest

import fdlkit
from fdlkit.graph.snapshot import snapshot
from tests.view.scenes import embedded, small

ROWS = "├─ hidden: int = 128  (--fdl_set)"


def notebook(monkeypatch, shell):
    """What IPython is to us: who runs the code, and what shows things."""
    told = []
    module = types.ModuleType("IPython")
    module.get_ipython = lambda: shell
    shows = types.ModuleType("IPython.display")
    shows.display = lambda data, *, raw: told.append((data, raw))
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "IPython.display", shows)
    return told


def test_a_notebook_shows_the_page_and_has_the_tree_for_those_that_cannot(
    monkeypatch, capsys
):
    told = notebook(monkeypatch, types.SimpleNamespace(kernel=object()))
    fdlkit.display(small(), title="mine")
    ((data, raw),) = told
    assert raw and ROWS in data["text/plain"] and capsys.readouterr().out == ""
    (page,) = re.findall('srcdoc="([^"]*)"', data["text/html"])
    assert "<title>mine</title>" in html.unescape(page)
    assert embedded(html.unescape(page))["boxes"][0]["title"] == "Job"


@pytest.mark.parametrize("shell", [None, types.SimpleNamespace()])
def test_a_terminal_shows_the_tree(monkeypatch, capsys, shell):
    told = notebook(monkeypatch, shell)
    fdlkit.display(snapshot(small()))
    assert ROWS in capsys.readouterr().out and told == []


def test_where_there_is_no_ipython_none_is_imported():
    code = (
        "import sys, fdlkit; fdlkit.display([1]);"
        "print([name for name in sys.modules if 'IPython' in name])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
        env={"PYTHONPATH": ":".join(sys.path)}, check=False,
    )  # fmt: skip
    assert done.stdout == "[1]\n[]\n", done.stderr
