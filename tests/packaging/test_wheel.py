"""The wheel holds the package alone, and works in an environment that has no repo."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements" / "lock-{}.{}.txt".format(*sys.version_info[:2])

ASSETS = pathlib.Path("fdlkit/view/assets")


def run(*command, cwd):
    """Runs a command and returns what it wrote to stdout."""
    done = subprocess.run(
        [str(part) for part in command],
        check=False,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built with what is installed from a copy of the tracked sources."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in ("fdlkit", "experiments", "tools", "tests"):
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, source / name, ignore=ignored)
    build = (sys.executable, "-m", "build", "--wheel", "--no-isolation")
    run(*build, "--outdir", folder, source, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_holds_every_module_of_the_package_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "fdlkit").rglob("*.py")}
    data = {name for name in names if not name.endswith(".py")}
    assert modules == names - data
    assets = {str(path.relative_to(ROOT)) for path in (ROOT / ASSETS).iterdir()}
    scripts = {f"fdlkit/completion/fdlkit.{shell}" for shell in ("bash", "zsh", "fish")}
    assert data == {"fdlkit/py.typed", *assets, *scripts}
    assert all(name.startswith("fdlkit/") for name in data)


def test_the_wheel_says_what_it_is(wheel):
    with zipfile.ZipFile(wheel) as archive:
        texts = {
            name.rpartition("/")[2]: archive.read(name).decode()
            for name in archive.namelist()
            if ".dist-info/" in name
        }
    assert "License-Expression: Apache-2.0" in texts["METADATA"]
    assert "Requires-Python: >=3.11" in texts["METADATA"]
    assert "fdlkit = fdlkit.cli.main:main" in texts["entry_points.txt"]
    assert "Apache License" in texts["LICENSE"]


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """A new environment of the locked packages and the wheel: its folder."""
    folder = tmp_path_factory.mktemp("installed") / "environment"
    uv = shutil.which("uv")
    if uv and not subprocess.run([uv, "--version"], check=False).returncode:
        run(uv, "venv", "--python", sys.executable, folder, cwd=folder.parent)
        python = folder / "bin" / "python"
        install = (uv, "pip", "install", "--python", python, "--no-deps")
    else:
        run(sys.executable, "-m", "venv", folder, cwd=folder.parent)
        install = (folder / "bin" / "python", "-m", "pip", "install", "--no-deps")
    run(*install, "--require-hashes", "-r", LOCK, cwd=folder.parent)
    run(*install, wheel, cwd=folder.parent)
    return folder


@pytest.mark.slow
def test_the_wheel_runs_in_an_environment_of_its_own(environment, tmp_path):
    python = environment / "bin" / "python"
    where = run(python, "-c", "import fdlkit; print(fdlkit.__file__)", cwd=tmp_path)
    assert where.startswith(str(environment))
    by_script = run(environment / "bin" / "fdlkit", "--help", cwd=tmp_path)
    by_module = run(python, "-m", "fdlkit", "--help", cwd=tmp_path)
    assert "show" in by_script
    assert "train" in by_script
    assert by_script == by_module


@pytest.mark.slow
def test_every_module_of_the_wheel_imports_without_the_dev_extra(environment, tmp_path):
    # What only the `dev` extra brings is hidden: the wheel must not need it.
    program = (
        "import importlib, pkgutil, sys\n"
        "for name in ('pytest', 'hypothesis', 'mypy', 'importlinter', 'build'):\n"
        "    sys.modules[name] = None\n"
        "import fdlkit\n"
        "names = [m.name for m in pkgutil.walk_packages(fdlkit.__path__, 'fdlkit.')]\n"
        "names = [name for name in names if name != 'fdlkit.__main__']\n"
        "for name in names:\n"
        "    importlib.import_module(name)\n"
        "print(len(names))\n"
    )
    python = environment / "bin" / "python"
    assert int(run(python, "-c", program, cwd=tmp_path)) > 0
