"""One, two and four processes with four devices in all are the same run."""

from __future__ import annotations

import itertools
import json
import signal
from pathlib import Path

import numpy as np
import pytest

from tests.run.program import Program, logged
from tests.run.several import ROWS
from tests.run.test_two_processes import free_port

TARGET = "tests/run/several.py:base"
NOT_COMPARED = ("steps_per_sec", "points_per_sec", "tflops_per_sec")


def start(workdir: Path, num: int, *arguments: str) -> list[Program]:
    """As many processes, with four devices between them."""
    several = (f"--coordinator=localhost:{free_port()}", f"--num_processes={num}")
    flags = f"--xla_force_host_platform_device_count={4 // num}"
    return [
        Program(
            workdir,
            *([*several, f"--process_id={number}"] if num > 1 else []),
            *arguments,
            target=TARGET,
            environment={"XLA_FLAGS": flags},
        )
        for number in range(num)
    ]


def finish(programs: list[Program]) -> None:
    for program in programs:
        assert program.end() == 0, "\n".join(program.lines)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The folder of each run, by the number of its processes."""
    folders = {num: tmp_path_factory.mktemp(f"of{num}") for num in (1, 2, 4)}
    for num, folder in folders.items():
        noted = f"--fdl_set=train_data.transforms[0].folder={folder}"
        finish(start(folder / "run", num, noted))
    return folders


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.parametrize("num", [2, 4])
def test_metrics_are_the_same_to_the_digit_and_losses_nearly(runs, num):
    alone = logged(runs[1] / "run", ignoring=NOT_COMPARED)
    several = logged(runs[num] / "run", ignoring=NOT_COMPARED)
    assert len(alone) == len(several)
    exact = 0
    for a, b in zip(alone, several, strict=True):
        assert a.keys() == b.keys()
        for name, value in a.items():
            if name.endswith(("/accuracy", "/rows")) or name == "step":
                assert b[name] == value, name
                exact += name.endswith("/accuracy")
            else:
                np.testing.assert_allclose(b[name], value, rtol=2e-5, err_msg=name)
    assert exact >= 10


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.parametrize("num", [2, 4])
def test_processes_read_different_rows_and_together_the_same(runs, num):
    def read(folder: Path) -> list[list[int]]:
        files = sorted(folder.glob("rows-*.txt"))
        numbers = [map(int, file.read_text().split()) for file in files]
        # The pipeline reads row 0 for the shapes of its batches.
        return [list(itertools.dropwhile(lambda n: n == 0, one)) for one in numbers]

    (alone,), several = read(runs[1]), read(runs[num])
    assert len(several) == num
    size = 16 // num
    for number in range(len(several[0]) // size):
        rows = [one[number * size : (number + 1) * size] for one in several]
        together = [row for one in rows for row in one]
        assert len(set(together)) == 16
        assert together == alone[number * 16 : (number + 1) * 16]
    assert len(alone) >= 2 * ROWS


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.parametrize("num", [2, 4])
def test_all_decide_alike_which_checkpoint_is_the_best(runs, num):
    best = [json.loads((runs[n] / "run" / "best.json").read_text()) for n in (1, num)]
    assert best[0] == best[1]
    kept = [
        sorted(path.name for path in (runs[n] / "run" / "checkpoints").iterdir())
        for n in (1, num)
    ]
    assert kept[0] == kept[1]
    assert str(best[0]["step"]) in kept[0]


@pytest.mark.slow
@pytest.mark.alone
def test_a_run_that_was_killed_goes_on_in_another_number_of_processes(runs, tmp_path):
    first, second = start(tmp_path, 2)
    first.wait_for_line("step 12/")
    second.strike(signal.SIGKILL)
    assert first.end() != 0
    finish(start(tmp_path, 4))
    whole = logged(runs[1] / "run", ignoring=NOT_COMPARED)
    for a, b in zip(whole, logged(tmp_path, ignoring=NOT_COMPARED), strict=True):
        assert a.keys() == b.keys()
        for name in a:
            if name.endswith(("/accuracy", "/rows")) or name == "step":
                assert a[name] == b[name], name


@pytest.mark.slow
@pytest.mark.alone
def test_all_stop_at_the_step_where_a_metric_is_good_enough(tmp_path):
    goal = "--fdl_set=stop_early.reaches=0.9"
    steps = []
    for num in (1, 2):
        finish(start(tmp_path / str(num), num, goal))
        steps.append(logged(tmp_path / str(num))[-1]["step"])
    assert steps[0] == steps[1] < 24


@pytest.mark.slow
@pytest.mark.alone
def test_a_checkpoint_is_evaluated_by_several_processes_as_by_one(runs):
    folder = runs[1] / "run"
    noted = f"--fdl_set=train_data.transforms[0].folder={runs[1]}"
    finish(start(folder, 2, "--eval_only", noted))
    found = json.loads((folder / "evaluations" / "24.json").read_text())
    last = {}
    for line in logged(folder, ignoring=NOT_COMPARED):
        if line["step"] == 24:
            last |= line
    assert found["eval/accuracy"] == last["eval/accuracy"]
    assert found["rolling/accuracy"] == last["rolling/accuracy"]
