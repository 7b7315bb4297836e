"""Golden files: what the program says, kept in `tests/golden`, a folder a room.

A test that takes `golden` compares with them; `make golden` writes them anew, and the
change is read like any other.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable

import hypothesis
import pytest

from tests import xla

# A deadline is a limit on wall time, and no test has one: machines are shared, and the
# first text that is drawn in a new environment takes seconds all by itself.
hypothesis.settings.register_profile(
    "fdlkit",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("fdlkit")

FOLDER = pathlib.Path(__file__).with_name("golden")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write what is said now into tests/golden, instead of comparing",
    )


def pytest_configure(config: pytest.Config) -> None:
    # Processes that share the tests are told a width, and texts would be broken to it.
    os.environ.pop("COLUMNS", None)
    if "not slow" in config.option.markexpr:
        xla.hurry()
        config.add_cleanup(xla.keep_programs())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "golden" in getattr(item, "fixturenames", ()):
            item.add_marker("golden")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares a text with the golden file of a name, such as `view/whole`."""

    def check(name: str, text: str) -> None:
        path = FOLDER / f"{name}.txt"
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        assert path.is_file(), f"no {path.relative_to(FOLDER)}: run `make golden`"
        assert text == path.read_text(encoding="utf-8")

    return check
