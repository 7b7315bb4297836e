"""A disk that is full ends a run in words, and takes no whole checkpoint with it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.run.program import Program

SIZE = "1500K"  # room for some checkpoints of `tiny`, not for all


@pytest.fixture
def small_disk(tmp_path: Path):
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_full_disk_fails_the_run_and_spares_what_is_saved(small_disk):
    program = Program(small_disk / "run", "--fdl_set=checkpoints.keep=None")
    assert program.end() == 1, program.lines
    text = "\n".join(program.lines)
    assert "Traceback" not in text, text
    last = [line for line in program.lines if line.startswith("error:")][-1]
    assert "could not be written" in last
