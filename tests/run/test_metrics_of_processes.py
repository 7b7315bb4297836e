"""One, two and four processes on four devices evaluate to the same digits."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.codegen.script.conftest import OUTSIDE, ROOT
from tests.run.test_two_processes import free_port

# One step that changes nothing: all begin the evaluation with the same parameters.
FLAGS = (
    *("--fdl_set=num_train_steps=1", "--fdl_set=optimizer.learning_rate=0.0"),
    *("--fdl_set=mesh.ici.data=4", "--check=off"),
)


def logged(workdir, *, processes):
    """What a run of some processes logs."""
    port = free_port()
    devices = f"--xla_force_host_platform_device_count={4 // processes}"
    running = []
    for number in range(processes):
        command = [sys.executable, "-m", "fdlkit", "train", "all_metrics.py:base"]
        command += [*FLAGS, f"--workdir={workdir}"]
        if processes > 1:
            command += [f"--coordinator=localhost:{port}", f"--process_id={number}"]
            command += [f"--num_processes={processes}"]
        running.append(
            subprocess.Popen(
                command,
                cwd=OUTSIDE,
                env=os.environ | {"XLA_FLAGS": devices, "PYTHONPATH": str(ROOT)},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )
    for process in running:
        said, _ = process.communicate()
        assert process.returncode == 0, said
    lines = (workdir / "metrics.jsonl").read_text().splitlines()
    return {name: x for line in lines for name, x in json.loads(line).items()}


@pytest.mark.slow
@pytest.mark.alone
def test_metrics_are_the_same_to_the_digit_whatever_the_number_of_processes(tmp_path):
    one, *others = (
        logged(tmp_path / str(number), processes=number) for number in (1, 2, 4)
    )
    evaluated = {name: x for name, x in one.items() if name.startswith("eval/")}
    assert len(evaluated) > 25
    for other in others:
        assert {name: other[name] for name in evaluated} == evaluated
        # The sums of a step's own loss are the devices', in float32.
        assert other["loss"] == pytest.approx(one["loss"], rel=1e-6)
