"""Users' files that one test imports are not there for the next."""

from __future__ import annotations

import sys
import textwrap

import pytest


@pytest.fixture
def write(tmp_path):
    """Writes files below a folder that no other test's modules come from."""
    before_path, before = list(sys.path), set(sys.modules)

    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    yield write
    sys.path[:] = before_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
