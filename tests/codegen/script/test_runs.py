"""A script trains to the bits of `fdlkit train`, without Fiddle and fdlkit.

Each run is a process of its own, on one device or on several virtual ones.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time

import pytest

from tests.codegen.script.conftest import ROOT, environment

STEPS = 20
EACH = ("--fdl_set=num_train_steps=20", "--fdl_set=log_every=1")
# Shortened; the model and its data are those of the experiment.
SHORT = (*EACH, "--fdl_set=eval_every=None", "--fdl_set=eval_data=None")
EXPERIMENTS = {
    "experiments/lm.py:base": SHORT,
    "experiments/lm.py:tiny": (*EACH, "--fdl_set=eval_every=10"),
    "experiments/lm.py:tied": SHORT,
    "own_module.py:base": EACH,
    "own_loss.py:base": EACH,
    "own_loss.py:several": EACH,
    "all_metrics.py:base": (*EACH, "--fdl_set=eval_every=5"),
    "own_corpus.py:base": EACH,
    "own_trainer.py:base": EACH,
}
TINY = (
    *("--fdl_set=num_train_steps=20", "--fdl_set=log_every=1"),
    *("--fdl_set=checkpoints.every=10", "--fdl_set=checkpoints.keep=None"),
)


def fdlkit(folder, *arguments, devices=1):
    command = [sys.executable, "-m", "fdlkit", *arguments]
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment(devices, PYTHONPATH=str(ROOT)),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done


def run(python, script, workdir, *flags, devices=1):
    command = [python, script, f"--workdir={workdir}", *flags]
    done = subprocess.run(
        command,
        cwd=script.parent,
        env=environment(devices),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done


def logged(workdir):
    """The numbers of each step that do not depend on the clock."""
    lines = (workdir / "metrics.jsonl").read_text().splitlines()
    return [
        {
            name: value
            for name, value in json.loads(line).items()
            if "_per_sec" not in name
        }
        for line in lines
    ]


def losses(workdir):
    return {line["step"]: line["loss"] for line in logged(workdir) if "loss" in line}


@pytest.fixture
def folder_of(outside):
    return lambda target: ROOT if target.startswith("experiments/") else outside


@pytest.mark.slow
@pytest.mark.parametrize("devices", [1, 8])
@pytest.mark.parametrize("target", EXPERIMENTS)
def test_a_script_logs_the_same_numbers(
    target, devices, bare_python, folder_of, tmp_path
):
    folder, overrides = folder_of(target), EXPERIMENTS[target]
    script = tmp_path / "script.py"
    fdlkit(
        folder,
        "codegen",
        target,
        *overrides,
        f"--out={script}",
        f"--verify=steps:{STEPS}",
        devices=devices,
    )
    own, theirs = tmp_path / "own", tmp_path / "theirs"
    fdlkit(folder, "train", target, *overrides, f"--workdir={own}", devices=devices)
    run(bare_python, script, theirs, devices=devices)
    assert len(losses(theirs)) == STEPS
    assert logged(theirs) == logged(own)


@pytest.fixture(scope="module")
def tiny(bare_python, tmp_path_factory):
    """The script of a short `tiny`, and what a whole run of it has logged."""
    folder = tmp_path_factory.mktemp("tiny")
    target, script = "experiments/lm.py:tiny", folder / "tiny.py"
    fdlkit(ROOT, "codegen", target, *TINY, f"--out={script}", "--verify=false")
    run(bare_python, script, folder / "whole")
    return script, folder / "whole"


def cut_to(workdir, step, beside):
    """A copy of a run as it was when its checkpoint of that step was saved."""
    shutil.copytree(workdir, beside)
    for path in (beside / "checkpoints").iterdir():
        if path.name.isdecimal() and int(path.name) > step:
            shutil.rmtree(path)
    return beside


@pytest.mark.slow
def test_a_script_goes_on_from_its_own_checkpoint(tiny, bare_python, tmp_path):
    script, whole = tiny
    half = cut_to(whole, 10, tmp_path / "half")
    done = run(bare_python, script, half)
    assert "resumed from step 10" in done.stderr
    assert logged(half) == logged(whole)


@pytest.mark.slow
def test_fdlkit_goes_on_from_a_checkpoint_of_a_script(tiny, tmp_path):
    _, whole = tiny
    half = cut_to(whole, 10, tmp_path / "half")
    done = fdlkit(ROOT, "train", "experiments/lm.py:tiny", *TINY, f"--workdir={half}")
    assert "resumed from step 10" in done.stderr
    assert logged(half) == logged(whole)


@pytest.mark.slow
def test_a_script_goes_on_from_a_checkpoint_of_fdlkit(tiny, bare_python, tmp_path):
    script, whole = tiny
    own = tmp_path / "own"
    fdlkit(ROOT, "train", "experiments/lm.py:tiny", *TINY, f"--workdir={own}")
    half = cut_to(own, 10, tmp_path / "half")
    done = run(bare_python, script, half)
    assert "resumed from step 10" in done.stderr
    assert logged(half) == logged(own) == logged(whole)


@pytest.mark.slow
def test_a_script_that_is_told_to_stop_leaves_a_checkpoint(tiny, bare_python, tmp_path):
    script, _ = tiny
    workdir = tmp_path / "stopped"
    running = subprocess.Popen(
        [bare_python, script, f"--workdir={workdir}", "--steps=100000"],
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (workdir / "metrics.jsonl").exists() or not losses(workdir):
        assert running.poll() is None, running.stderr.read()
        time.sleep(0.1)
    running.send_signal(signal.SIGTERM)
    said = running.communicate()[1]
    assert running.returncode == 75, said
    last = max(losses(workdir))
    assert f"stopped at step {last};" in said
    assert (workdir / "checkpoints" / str(last)).is_dir()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "changed", "override"),
    [
        ("hidden = 32", "hidden = 48", "--fdl_set=model.hidden=48"),
        (
            "num_train_steps: int = 20",
            "num_train_steps: int = 12",
            "--fdl_set=num_train_steps=12",
        ),
    ],
)
def test_a_number_that_is_changed_in_the_script_moves_what_followed_it(
    line, changed, override, tiny, bare_python, tmp_path
):
    script, _ = tiny
    text = script.read_text()
    assert text.count(line) == 1
    edited = tmp_path / "edited.py"
    edited.write_text(text.replace(line, changed))
    own, theirs = tmp_path / "own", tmp_path / "theirs"
    run(bare_python, edited, theirs)
    fdlkit(ROOT, "train", "experiments/lm.py:tiny", *TINY, override, f"--workdir={own}")
    assert logged(theirs) == logged(own)


@pytest.mark.slow
def test_flags_do_what_overrides_do(tiny, bare_python, tmp_path):
    script, _ = tiny
    own, theirs = tmp_path / "own", tmp_path / "theirs"
    run(bare_python, script, theirs, "--steps=6", "--seed=3")
    fdlkit(
        ROOT,
        "train",
        "experiments/lm.py:tiny",
        *TINY,
        f"--workdir={own}",
        "--fdl_set=num_train_steps=6",
        "--fdl_set=seed=3",
    )
    assert logged(theirs) == logged(own)


@pytest.mark.slow
def test_mypy_finds_nothing_in_a_script(tiny, tmp_path):
    script, _ = tiny
    config = tmp_path / "mypy.ini"
    config.write_text("[mypy]\nignore_missing_imports = true\n")
    command = [sys.executable, "-m", "mypy", "--config-file", config, script]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
