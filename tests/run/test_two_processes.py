"""Two processes with four devices each are one run."""

from __future__ import annotations

import signal
import socket
from pathlib import Path

import numpy as np
import pytest

from tests.run.program import Program, logged
from tests.run.states import assert_same_state

FOUR_DEVICES = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
EIGHT_DEVICES = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8"}
MESH = ("--fdl_set=mesh.ici.fsdp=2", "--fdl_set=mesh.ici.tensor=2")


def free_port() -> int:
    with socket.socket() as server:
        server.bind(("localhost", 0))
        return server.getsockname()[1]


def start_two(workdir: Path, *arguments: str) -> list[Program]:
    port = free_port()
    return [
        Program(
            workdir,
            f"--coordinator=localhost:{port}",
            "--num_processes=2",
            f"--process_id={number}",
            *MESH,
            *arguments,
            environment=FOUR_DEVICES,
        )
        for number in range(2)
    ]


def assert_ended_well(programs: list[Program]) -> None:
    for program in programs:
        assert program.end() == 0, "\n".join(program.lines)


@pytest.mark.slow
@pytest.mark.alone
def test_two_processes_are_one_run_killed_or_not(tmp_path):
    one, two, killed = (tmp_path / name for name in ("one", "two", "killed"))
    alone = Program(one, *MESH, environment=EIGHT_DEVICES)
    assert alone.end() == 0, alone.lines
    assert_ended_well(start_two(two))
    for a, b in zip(logged(one), logged(two), strict=True):
        assert a.keys() == b.keys()
        for name, value in a.items():
            np.testing.assert_allclose(b[name], value, rtol=2e-4, err_msg=name)

    first, second = start_two(killed)
    first.wait_for_line("step 15/")
    second.strike(signal.SIGKILL)
    assert first.end() != 0, first.lines
    assert_ended_well(start_two(killed))
    assert logged(killed) == logged(two)
    assert_same_state(killed, two, 40)


@pytest.mark.slow
@pytest.mark.alone
def test_a_signal_to_one_of_two_processes_stops_both_at_one_step(tmp_path):
    first, second = start_two(tmp_path, "--fdl_set=num_train_steps=2000")
    first.wait_for_line("step 15/")
    second.process.send_signal(signal.SIGTERM)
    assert (first.end(), second.end()) == (75, 75), first.lines + second.lines
    step = int(first.lines[-1].split()[3])
    assert (tmp_path / "checkpoints" / str(step)).is_dir()
