"""The processes of a run compile their step by one profile, whoever has measured."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.run.program import Program, logged
from tests.run.test_two_processes import assert_ended_well, free_port

FILE = "tests/run/profiled.py"
NOT_COMPARED = ("steps_per_sec", "points_per_sec", "tflops_per_sec")


def run_two(workdir: Path, target: str) -> list[Program]:
    several = (f"--coordinator=localhost:{free_port()}", "--num_processes=2")
    programs = [
        Program(workdir, *several, f"--process_id={number}", target=target)
        for number in range(2)
    ]
    assert_ended_well(programs)
    return programs


@pytest.mark.slow
@pytest.mark.alone
def test_the_first_process_has_the_profile_of_all(tmp_path):
    target = f"{FILE}:manual(notes='{tmp_path}')"
    run_two(tmp_path / "run", target)
    (kept,) = (tmp_path / "run" / "pgle").iterdir()
    assert kept.read_bytes() == b"of 0"
    for number in range(2):
        compiled = (tmp_path / f"compiled-{number}.txt").read_text()
        assert compiled.splitlines() == ["b''", "b'of 0'"]
    run_two(tmp_path / "automatic", f"{FILE}:automatic")
    manual, automatic = (
        logged(tmp_path / name, ignoring=NOT_COMPARED) for name in ("run", "automatic")
    )
    for a, b in zip(manual, automatic, strict=True):
        assert a.keys() == b.keys()
        for name, value in a.items():
            np.testing.assert_allclose(b[name], value, rtol=1e-6, err_msg=name)
