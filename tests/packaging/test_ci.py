"""`.ci/run` runs every stage, also after one that failed, and says which failed."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def ci(tmp_path):
    """Runs `.ci/run` with a `make` that fails for the targets given."""

    def run(failing: str) -> subprocess.CompletedProcess[str]:
        make = tmp_path / "make"
        make.write_text(f'#!/bin/sh\necho "made $1"\n[ "$1" != "{failing}" ]\n')
        make.chmod(0o755)
        # Nothing is to be installed for a test of a script.
        apt = tmp_path / "apt-get"
        apt.write_text("#!/bin/sh\nexit 1\n")
        apt.chmod(0o755)
        # The real PATH without its Pythons would lack the tools that the script uses.
        path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            ["bash", ".ci/run"],
            check=False,
            cwd=ROOT,
            env={**os.environ, "PATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )

    return run


def test_all_stages_run_in_order(ci):
    done = ci(failing="none")
    assert done.returncode == 0, done.stdout + done.stderr
    made = re.findall(r"^made ([\w-]+)$", done.stdout, re.MULTILINE)
    assert made[:3] == ["test", "lint", "test-slow"]
    assert done.stdout.endswith("all stages passed\n")


@pytest.mark.parametrize("stage", ["test", "lint", "test-slow"])
def test_a_stage_that_fails_fails_the_run_but_not_the_others(ci, stage):
    done = ci(failing=stage)
    assert done.returncode == 1
    assert re.search(f"^failed: make {stage}( .*)?$", done.stdout, re.MULTILINE)
    for each in ("test", "lint", "test-slow"):
        assert f"made {each}\n" in done.stdout


def test_the_limits_of_the_stages_leave_time_to_spare():
    text = (ROOT / ".ci" / "run").read_text()
    minutes = [int(m) for m in re.findall(r"^ *stage (\d+) make", text, re.MULTILINE)]
    assert len(minutes) == 4
    assert sum(minutes) < 88
