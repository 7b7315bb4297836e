"""A folder with experiments, a program `fdlkit` on the PATH, and a cache of its own."""

from __future__ import annotations

import os
import pathlib
import shlex
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]

# Whoever runs this file leaves a trace.
EXPERIMENT = '''
"""An experiment."""
import dataclasses
import enum
import os
import typing

import fiddle as fdl

with open(os.environ["TRACE"], "a") as trace:
    trace.write("ran\\n")


class Norm(enum.Enum):
    RMS = "rms"
    LAYER = "layer"


class Width(fdl.Tag):
    """How wide it is."""


@dataclasses.dataclass
class Layer:
    width: int = 8
    norm: Norm = Norm.RMS
    dropout: float = 0.0


@dataclasses.dataclass
class Model:
    layers: list
    head: Layer = dataclasses.field(default_factory=Layer)
    mode: typing.Literal["fast", "very slow"] = "fast"
    tied: bool = False
    note: typing.Optional[bool] = None
    dtype: typing.Any = None
    names: dict = dataclasses.field(default_factory=dict)


def base(depth: int = 2) -> fdl.Config[Model]:
    """The usual one."""
    layer = fdl.Config(Layer)
    fdl.add_tag(layer, "width", Width)
    return fdl.Config(
        Model, layers=[layer, fdl.Config(Layer)][:depth], names={"a": 1, "b c": 2}
    )


def basic() -> fdl.Config[Model]:
    """A smaller one: half."""
    return base(depth=1)


def narrow(cfg) -> None:
    """Makes it narrow."""
    cfg.head.width = 1
'''


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Where a person works: some files, a run, names that need quotes."""
    folder = tmp_path_factory.mktemp("work")
    for name in ("experiments/lm.py", "my dir/vision (old).py"):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(EXPERIMENT)
    (folder / "experiments" / "notes.txt").touch()
    (folder / "experiments" / ".hidden.py").touch()
    (folder / "runs" / "first" / "record").mkdir(parents=True)
    (folder / "runs" / "first" / "record" / "config.json").touch()
    (folder / "runs" / "empty").mkdir()
    (folder / "home" / "mine").mkdir(parents=True)
    (folder / "home" / "mine" / "own.py").write_text(EXPERIMENT)
    return folder


@pytest.fixture(scope="session")
def environment(folder, tmp_path_factory):
    """The environment in which the shells and the program run."""
    own = tmp_path_factory.mktemp("own")
    program = own / "bin" / "fdlkit"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m fdlkit "$@"\n'
    )
    program.chmod(0o755)
    return {
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
        "HOME": str(folder / "home"),
        "XDG_CACHE_HOME": str(own / "cache"),
        "XDG_CONFIG_HOME": str(own / "config"),
        "XDG_DATA_HOME": str(own / "data"),
        "TRACE": str(own / "trace"),
        "TERM": "xterm",
        "LC_ALL": "C.UTF-8",
    }


@pytest.fixture(scope="session")
def shown(folder, environment):
    """A verb has loaded both files' `base`, as it would before a person goes on."""
    for target in ("experiments/lm.py:base", "my dir/vision (old).py:base"):
        subprocess.run(
            ["fdlkit", "show", target],
            cwd=folder,
            env=environment,
            check=True,
            capture_output=True,
            timeout=120,
        )
    trace = pathlib.Path(environment["TRACE"])
    assert trace.read_text() == "ran\n" * 2
    return trace
