"""The lock files fit pyproject.toml, which they are made from."""

from __future__ import annotations

import importlib.util
import pathlib
import re
import subprocess
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOCKS = sorted((ROOT / "requirements").glob("lock-*.txt"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def load_tool(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def dependencies(*extras):
    listed = [PROJECT["dependencies"], *(EXTRAS[name] for name in extras)]
    return [Requirement(line) for lines in listed for line in lines]


def pins(text):
    """The version of each package in a lock."""
    found = re.findall(r"^([a-z0-9-]+)(?:\[[a-z,]+\])?==([\w.]+)", text, re.MULTILINE)
    return dict(found)


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_a_lock_pins_every_dependency_within_its_bounds(lock):
    pinned = pins(lock.read_text())
    locked = load_tool("lock").locked_extras((ROOT / "pyproject.toml").read_text())
    assert {"dev", "viz", "digits", "tokenizers"} <= set(locked)
    for wanted in dependencies(*locked):
        version = pinned[canonicalize_name(wanted.name)]
        assert wanted.specifier.contains(version), (wanted, version)


def test_every_dependency_has_a_lower_and_an_upper_bound():
    for wanted in dependencies(*EXTRAS):
        operators = {specifier.operator for specifier in wanted.specifier}
        assert operators == {">=", "<"}, wanted


def test_there_is_a_lock_for_each_python_that_the_package_names():
    prefix = "Programming Language :: Python :: 3."
    named = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if prefix in c]
    assert [lock.stem.removeprefix("lock-") for lock in LOCKS] == named
    assert list(load_tool("lock").MINORS) == named


def test_conditions_on_the_python_of_the_lock_are_left_out():
    drop = load_tool("lock").drop_minor_markers
    assert drop("a==1 ; python_full_version < '3.12' \\\n") == "a==1 \\\n"
    assert drop("a==1 ; python_full_version == '3.13.*' and os_name == 'nt' \\\n") == (
        "a==1 ; os_name == 'nt' \\\n"
    )
    assert drop(
        "a==1 ; python_full_version < '3.12' and (os_name == 'nt' or b == 'c') \\\n"
    ) == ("a==1 ; os_name == 'nt' or b == 'c' \\\n")
    assert drop("a==1 ; os_name == 'nt' \\\n") == "a==1 ; os_name == 'nt' \\\n"


def test_setup_names_the_pythons_that_it_can_use(tmp_path):
    old = tmp_path / "python-of-old"
    old.write_text("#!/bin/sh\necho 3.9\n")
    old.chmod(0o755)
    done = subprocess.run(
        ["make", "setup", f"PYTHON={old}", f"VENV={tmp_path / 'venv'}"],
        check=False,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode != 0
    assert "lock file for: 3.11 3.12 3.13" in done.stderr
    assert f"{old} (Python 3.9)" in done.stderr
    assert not (tmp_path / "venv").exists()
