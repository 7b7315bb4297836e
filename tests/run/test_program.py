"""`fdlkit train` as a person runs it: streams, exit codes, what is left behind."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys

import pytest

from tests.run.program import ROOT, Program


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    workdir = tmp_path_factory.mktemp("runs") / "tiny"
    program = Program(workdir)
    code = program.end()
    assert code == 0, program.lines
    return workdir, program


def test_talk_goes_to_stderr_and_stdout_stays_empty(run):
    _, program = run
    assert program.process.stdout.read() == ""
    assert program.lines[0].startswith("41,120 parameters, batch 8, 1 device")
    assert program.lines[-1] == "saving step 40"


def test_the_workdir_holds_record_numbers_events_and_checkpoints(run):
    workdir, _ = run
    assert sorted(p.name for p in workdir.iterdir()) == [
        ".lock",
        "checkpoints",
        "metrics.jsonl",
        "record",
        "tensorboard",
    ]
    assert sorted(p.name for p in (workdir / "record").iterdir()) == [
        "command.json",
        "config.json",
        "config.txt",
        "environment.json",
        "git.json",
    ]
    leaves = (workdir / "record" / "config.txt").read_text().splitlines()
    assert "model.hidden = 32" in leaves
    names = {
        name
        for line in (workdir / "metrics.jsonl").read_text().splitlines()
        for name in json.loads(line)
    }
    assert names == {
        "step",
        "loss",
        "grad_norm",
        "learning_rate",
        "param_norm",
        "steps_per_sec",
        "tokens_per_sec",
        "tflops_per_sec",
        "eval/loss",
        "eval/bits_per_byte",
        "eval/rows",
    }


def test_a_finished_run_started_again_says_so(run):
    workdir, _ = run
    again = Program(workdir)
    assert again.end() == 0
    assert again.lines[-1].startswith("finished already: ")


def test_another_config_is_refused_with_exit_code_two(run):
    workdir, _ = run
    other = Program(workdir, "--fdl_set=model.hidden=64")
    assert other.end() == 2
    assert other.lines[0] == f"error: {workdir} holds a run of another config"
    assert "  model.hidden: 32 there, 64 now" in other.lines


def test_a_run_directory_is_a_target(run):
    workdir, _ = run
    done = subprocess.run(
        [sys.executable, "-m", "fdlkit", "show", str(workdir), "--depth=1"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "Trainer"


def test_on_a_terminal_there_is_a_bar(run, tmp_path):
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "fdlkit", "train", "experiments/lm.py:tiny"),
            *(f"--workdir={tmp_path}", "--fdl_set=num_train_steps=10"),
        ],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "120"},
        stderr=theirs,
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the terminal's other side is closed
            break
        if not piece:
            break
        seen += piece
    assert process.wait() == 0
    text = seen.decode()
    assert "10/10" in text
    assert "━" in text
    assert "eval/bits_per_byte" in text
