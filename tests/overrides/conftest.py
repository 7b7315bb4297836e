"""The config that these tests change, as a module like any user's."""

from __future__ import annotations

import importlib.util
import pathlib
import sys
import types

import pytest


@pytest.fixture(scope="session")
def shop() -> types.ModuleType:
    name = "fdlkit_test_shop"
    if name not in sys.modules:
        path = pathlib.Path(__file__).with_name("shop.py")
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]
