"""What one test imports, or leaves in the cache folder, is not there for the next."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(autouse=True)
def forgotten_modules(tmp_path):
    before_path, before = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = before_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
