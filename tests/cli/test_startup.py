"""What is answered at once loads nothing that takes long to load."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest

from fdlkit.cli.main import VERBS

ROOT = pathlib.Path(__file__).parents[2]

TARGET = "experiments/lm.py:base"

# Of these, `import fiddle` and `import jax` alone bring most.
SLOW = {
    *("fiddle", "libcst", "jax", "jaxlib", "flax", "optax", "orbax", "grain"),
    *("numpy", "rich", "etils", "tensorboardX", "graphviz", "yaml"),
    # Of the standard library: each is a few milliseconds of every TAB.
    *("asyncio", "unittest", "http", "email", "importlib.metadata"),
}

PROGRAM = """
import contextlib, io, json, sys
from fdlkit.cli.main import main
with contextlib.redirect_stdout(io.StringIO()) as out:
    assert main(json.loads(sys.argv[1])) == 0
assert out.getvalue().strip(), "it has answered nothing"
print(json.dumps(sorted(sys.modules)))
"""


def loaded_by(argv, cache):
    """The modules that a command line has loaded when it is done."""
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(argv)],
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
            "XDG_CACHE_HOME": str(cache),
        },
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    return set(json.loads(result.stdout))


@pytest.mark.parametrize(
    "argv",
    [
        ["--help"],
        *([verb.name, "--help"] for verb in VERBS),
        ["show", "experiments/lm.py"],
        ["show", "experiments/lm.py", "--format=json"],
        ["completion", "bash"],
        ["__complete", "fish", "fdlkit s"],
        ["__complete", "fish", "fdlkit show --"],
        ["__complete", "fish", "fdlkit show experiments/"],
        ["__complete", "fish", "fdlkit show experiments/lm.py:"],
        ["__complete", "fish", f"fdlkit train {TARGET} --fdl_fiddler="],
    ],
    ids=" ".join,
)
def test_help_a_listing_and_tab_load_nothing_slow(argv, tmp_path):
    assert not loaded_by(argv, tmp_path) & SLOW


def test_showing_an_experiment_loads_what_training_it_needs_only_then(tmp_path):
    loaded = loaded_by(["show", TARGET], tmp_path)
    assert {"fiddle", "jax", "flax", "optax"} <= loaded
    assert not loaded & {"orbax", "grain", "tensorboardX", "tensorstore", "tensorflow"}
    # Now there is something to offer, and offering it is as cheap.
    line = f"fdlkit show {TARGET} --fdl_set=model.hi"
    assert not loaded_by(["__complete", "fish", line], tmp_path) & SLOW


def test_a_slow_module_would_be_seen(tmp_path):
    assert loaded_by(["show", TARGET, "--depth=1"], tmp_path) & SLOW
