"""A mesh changes where arrays live, and no number."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow
MESHES = ("data=8", "fsdp=8", "data=2,fsdp=2,tensor=2")


@pytest.fixture(scope="module")
def results():
    done = subprocess.run(
        [sys.executable, "tests/sharding/eight_devices.py"],
        cwd=ROOT,
        env=os.environ
        | {
            "PYTHONPATH": str(ROOT),
            "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("mesh", MESHES)
def test_every_mesh_has_the_losses_of_one_device(mesh, results):
    expected = results["one device"]["losses"]
    assert len(expected) == 3
    np.testing.assert_allclose(results[mesh]["losses"], expected, rtol=1e-4)


def test_the_default_mesh_has_all_devices_on_data(results):
    shape = results["data=-1"]["mesh"]
    assert shape == {"data": 8, "fsdp": 1, "tensor": 1, "context": 1, "stage": 1}


@pytest.mark.parametrize(("mesh", "parts"), [("fsdp=8", 8), ("data=8", 1)])
def test_parameters_and_moments_are_cut_as_the_mesh_says_before_step_one(
    mesh, parts, results
):
    found = results[mesh]
    for what, copies in (("params", 1), ("moments", 2)):
        held = np.array(list(found[what].values()))
        assert held.shape[1] == 8
        assert (held == held[:, :1]).all(), f"{what}: devices hold different amounts"
        # Every parameter of this model has an `embed` dim, which fsdp cuts.
        assert held[:, 0].sum() * parts == copies * found["total"]


def test_three_axes_cut_kernels_twice(results):
    found = results["data=2,fsdp=2,tensor=2"]["params"]
    whole = results["one device"]["params"]
    up = next(path for path in found if "mlp" in path and "up" in path)
    norm = next(path for path in found if "attention_norm" in path)
    assert found[up] == [whole[up][0] // 4] * 8
    assert found[norm] == [whole[norm][0] // 2] * 8


def test_a_run_moves_from_eight_devices_to_four_to_one(results):
    expected = results["one device"]["losses"]
    np.testing.assert_allclose(results["moving"]["losses"], expected, rtol=1e-4)
