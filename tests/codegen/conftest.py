"""Running what was generated, in this process; golden copies of it."""

from __future__ import annotations

import pathlib
import sys
import types
from collections.abc import Callable
from typing import Any

import pytest

FOLDER = pathlib.Path(__file__).with_name("golden")


@pytest.fixture
def evaluated():
    """Runs a generated text as a module and returns what its function returns."""
    name = "generated_for_a_test"

    def run(text: str, function: str) -> Any:
        module = types.ModuleType(name)
        sys.modules[name] = module
        code = compile(text, "<generated>", "exec", dont_inherit=True)
        exec(code, vars(module))
        return getattr(module, function)()

    yield run
    sys.modules.pop(name, None)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares a text with the golden program of a name; they are read in reviews."""

    def check(name: str, text: str) -> None:
        path = FOLDER / f"{name}.py"
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        assert path.is_file(), f"no {path.name} in {FOLDER}: run `make golden`"
        assert text == path.read_text(encoding="utf-8")

    return check
