"""Running what was generated, in this process."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest


@pytest.fixture
def evaluated():
    """Runs a generated text as a module and returns what its function returns."""
    name = "generated_for_a_test"

    def run(text: str, function: str) -> Any:
        module = types.ModuleType(name)
        sys.modules[name] = module
        exec(compile(text, "<generated>", "exec"), vars(module))
        return getattr(module, function)()

    yield run
    sys.modules.pop(name, None)
