"""The check against real steps: three hundred mutants of the shipped experiments."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest

from tests import xla

ROOT = pathlib.Path(__file__).parents[2]
MUTANTS = 300
PROCESSES = 2
# What is compiled runs once: to compile it fast is all that counts.
FLAGS = " ".join(("--xla_force_host_platform_device_count=8", *xla.FAST_COMPILE))

# What a step shows, and no trace of shapes can: name what it does, and why not.
MISSES: dict[str, str] = {}


@pytest.fixture(scope="module")
def trials():
    """What the check and a real step say of each mutant."""
    environment = {
        **os.environ,
        "XLA_FLAGS": FLAGS,
        "JAX_PLATFORMS": "cpu",
        "PYTHONPATH": str(ROOT),
    }
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.check.oracle", *map(str, part)],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for part in ((MUTANTS, i, PROCESSES) for i in range(PROCESSES))
    ]
    outputs = [process.communicate(timeout=3600)[0] for process in running]
    assert not any(process.returncode for process in running)
    return [json.loads(line) for out in outputs for line in out.splitlines()]


def errors(trial):
    return [f for f in trial["findings"] if f["severity"] == "error"]


@pytest.mark.slow
def test_every_mutant_was_tried_and_both_kinds_are_many(trials):
    assert len(trials) == MUTANTS
    failed = [trial for trial in trials if trial["error"]]
    assert MUTANTS / 4 < len(failed) < 3 * MUTANTS / 4


@pytest.mark.slow
def test_the_check_never_falls(trials):
    assert not [(t["name"], t["crash"]) for t in trials if t["crash"]]


@pytest.mark.slow
def test_what_fails_in_a_real_step_is_an_error_finding(trials):
    failed = [trial for trial in trials if trial["error"]]
    missed = [
        (trial["name"], trial["error"])
        for trial in failed
        if not errors(trial) and trial["name"] not in MISSES
    ]
    assert len(missed) <= 0.05 * len(failed), missed
    assert not missed, "name each one in MISSES, with its reason"


@pytest.mark.slow
def test_what_trains_without_padding_or_idle_devices_is_none(trials):
    alarms = [
        (trial["name"], [(f["code"], f["text"]) for f in errors(trial)])
        for trial in trials
        if trial["error"] is None and not trial["padded"] and not trial["idle"]
        if errors(trial)
    ]
    assert not alarms
