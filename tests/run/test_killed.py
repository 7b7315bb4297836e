"""A run that is killed at any moment and started again ends in the same bits."""

from __future__ import annotations

import signal

import pytest

from tests.run.program import Program, half_saved, logged
from tests.run.states import assert_same_state

# Each is (what to wait for, whether it is a save in progress), in the order in which
# one run meets them: `tiny` logs every 5 steps, saves every 10, evaluates every 20.
MOMENTS = (
    ("before the first checkpoint", "step 5/"),
    ("during a save", None),
    ("between two log points", "step 15/"),
    ("during an evaluation", "evaluating step 20"),
    ("as a save begins", "saving step 20"),
    ("during another save", None),
    ("while it compiles", "compiling the training step"),
    ("after a log point", "step 25/"),
    ("late", "step 35/"),
    ("during the last evaluation", "evaluating step 40"),
    ("as the last save begins", "saving step 40"),
)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    workdir = tmp_path_factory.mktemp("undisturbed")
    program = Program(workdir)
    assert program.end() == 0, program.lines
    return workdir


@pytest.mark.slow
def test_sigkill_at_eleven_moments_changes_no_bit(undisturbed, tmp_path, capsys):
    for name, line in MOMENTS:
        program = Program(tmp_path)
        if line is None:
            stale = set(half_saved(tmp_path))
            program.wait_until(lambda s=stale: bool(set(half_saved(tmp_path)) - s))
        else:
            program.wait_for_line(line)
        assert program.strike(signal.SIGKILL) == -signal.SIGKILL
        if line is None:
            assert half_saved(tmp_path), f"{name}: the save was over"
        with capsys.disabled():
            print(f"\n  killed {name}: after {program.lines[-1]!r}", end="")
    program = Program(tmp_path)
    assert program.end() == 0, program.lines
    assert logged(tmp_path) == logged(undisturbed)
    assert_same_state(tmp_path, undisturbed, 40)
    assert half_saved(tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("moment", "number", "code"),
    [
        ("compiling the training step", signal.SIGTERM, 75),
        ("step 5/", signal.SIGTERM, 75),
        ("saving step 10", signal.SIGTERM, 75),
        ("evaluating step 20", signal.SIGTERM, 75),
        ("step 15/", signal.SIGINT, 130),
        ("evaluating step 40", signal.SIGTERM, 75),
    ],
)
def test_a_signal_saves_the_current_step_and_repeats_none(
    moment, number, code, undisturbed, tmp_path
):
    program = Program(tmp_path)
    program.wait_for_line(moment)
    assert program.strike(number) == code, program.lines
    last = program.lines[-1]
    assert last.startswith("stopped at step "), program.lines
    step = int(last.split()[3])
    assert (tmp_path / "checkpoints" / str(step)).is_dir()
    again = Program(tmp_path)
    assert again.end() == 0, again.lines
    assert any(x.startswith(f"resumed from step {step} ") for x in again.lines)
    assert logged(tmp_path) == logged(undisturbed)
    assert_same_state(tmp_path, undisturbed, 40)


def test_a_signal_before_there_is_any_state_saves_nothing_and_exits_75(tmp_path):
    program = Program(tmp_path / "run")
    program.wait_until(lambda: has_handler(program.process.pid))
    assert program.strike(signal.SIGTERM) == 75, program.lines
    assert program.lines[-1] == "stopped before there was anything to save"
    assert [path.name for path in (tmp_path / "run").iterdir()] == [".lock"]


def has_handler(pid: int) -> bool:
    """Whether the process catches SIGTERM by now."""
    with open(f"/proc/{pid}/status") as status:
        caught = next(line for line in status if line.startswith("SigCgt"))
    return bool(int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1)
