"""Scripts of experiments, in this process; and a Python that has no fdlkit."""

from __future__ import annotations

import dataclasses
import functools
import os
import pathlib
import shutil
import site
import subprocess
import sys
import venv

import pytest

from fdlkit.codegen.script import making, writing
from fdlkit.graph.build import build
from fdlkit.graph.snapshot import take
from fdlkit.targets.loading import load_target
from tests import xla

ROOT = pathlib.Path(__file__).resolve().parents[3]
OUTSIDE = pathlib.Path(__file__).with_name("outside")


@functools.cache
def written(target):
    """The script of a target of this repository, with what it is made of."""
    loaded = load_target(target)
    origin = making.origin_of(
        target,
        f"fdlkit codegen {target} --out=train_lm.py",
        loaded.module,
        loaded.function,
    )
    origin = dataclasses.replace(origin, commit="")
    return writing.write(take(loaded.cfg), build(loaded.cfg), origin)


@pytest.fixture
def in_root(monkeypatch):
    monkeypatch.chdir(ROOT)


@pytest.fixture
def base(in_root):
    """The script of `experiments/lm.py:base`."""
    return written("experiments/lm.py:base")


@pytest.fixture(scope="session")
def outside(tmp_path_factory):
    """A folder with experiments that are not of this repository."""
    return shutil.copytree(OUTSIDE, tmp_path_factory.mktemp("outside") / "mine")


@pytest.fixture(scope="session")
def bare_python(tmp_path_factory):
    """A virtual environment with all packages of this one but Fiddle and fdlkit."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, symlinks=True)
    minor = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    packages = folder / "lib" / minor / "site-packages"
    for path in pathlib.Path(site.getsitepackages()[0]).iterdir():
        name = path.name.lower()
        if "fiddle" not in name and "fdlkit" not in name and path.suffix != ".pth":
            (packages / path.name).symlink_to(path)
    python = folder / "bin" / "python"
    for module in ("fiddle", "fdlkit"):
        done = subprocess.run(
            [python, "-c", f"import {module}"],
            capture_output=True,
            cwd=folder,
            env=environment(),
        )
        assert b"ModuleNotFoundError" in done.stderr
    subprocess.run(
        [python, "-c", "import jax, flax"], check=True, cwd=folder, env=environment()
    )
    return python


def environment(devices=1, **more):
    """The environment of a run, without what leads to this repository."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    return {**kept, **xla.devices(devices), "JAX_PLATFORMS": "cpu", **more}
