"""The import contracts of pyproject.toml hold, and can be broken."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest


def lint_imports(folder: pathlib.Path, config: pathlib.Path) -> str:
    """What import-linter says of the package `fdlkit` in a folder."""
    program = (
        "import sys; sys.path.insert(0, '.');"
        "from importlinter.cli import lint_imports;"
        "sys.exit(lint_imports(config_filename=sys.argv[1], no_cache=True))"
    )
    command = [sys.executable, "-c", program, str(config)]
    done = subprocess.run(
        command, check=False, cwd=folder, capture_output=True, text=True, timeout=120
    )
    return done.stdout + done.stderr


@pytest.fixture
def small_house(tmp_path, root):
    """Makes a package `fdlkit` of the modules given and lints it by our contracts."""

    def lint(modules: dict[str, str]) -> str:
        for name, text in {"__init__": "", "errors": "", **modules}.items():
            path = tmp_path / "fdlkit" / f"{name}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            (path.parent / "__init__.py").touch()
            path.write_text(text)
        return lint_imports(tmp_path, root / "pyproject.toml")

    return lint


def test_every_folder_is_a_package(house):
    # What is no package is seen by neither import-linter nor the wheel.
    paths = {source.path for source in house}
    folders = {pathlib.PurePath(path).parent for path in paths}
    assert {str(folder / "__init__.py") for folder in folders} <= paths


def test_the_import_contracts_hold(root):
    said = lint_imports(root, root / "pyproject.toml")
    assert "3 kept, 0 broken" in said, said


def test_a_room_that_imports_a_lower_one_keeps_the_contracts(small_house):
    said = small_house({"graph/paths": "import fdlkit.errors", "targets/a": ""})
    assert "3 kept, 0 broken" in said, said


def test_a_room_that_imports_a_higher_one_breaks_a_contract(small_house):
    said = small_house(
        {"graph/paths": "def f():\n    import fdlkit.cli.main", "cli/main": ""}
    )
    assert "Arrows run down BROKEN" in said, said


def test_a_room_that_has_no_place_breaks_a_contract(small_house):
    said = small_house({"attic/boxes": ""})
    assert "Arrows run down BROKEN" in said, said
    assert "fdlkit.attic" in said, said


def test_an_import_circle_breaks_a_contract(small_house):
    said = small_house(
        {"nn/mlp": "import fdlkit.nn.block", "nn/block": "import fdlkit.nn.mlp"}
    )
    assert "No import circles BROKEN" in said, said


def test_a_way_to_tensorflow_breaks_a_contract(small_house):
    said = small_house(
        {"train/writers": "def f():\n    from clu import metric_writers"}
    )
    assert "Nothing that loads TensorFlow BROKEN" in said, said
