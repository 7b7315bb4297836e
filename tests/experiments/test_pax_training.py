"""The tiny twins of Pax's language models learn."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fdlkit
from tests.experiments import facts
from tests.run.program import Program, logged
from tests.run.test_two_processes import FOUR_DEVICES, assert_ended_well, free_port

# A twin costs half a minute, most of it compilation: one sharded, one pipelined.
QUICK = ("lm_cloud.py:tiny_spmd", "gpt3.py:tiny_pipeline")
TWINS = [
    pytest.param(target, marks=() if target in QUICK else pytest.mark.slow)
    for target in facts.TINY
]


@pytest.mark.parametrize("target", TWINS)
def test_a_tiny_twin_is_sound_and_learns_the_language(target: str, tmp_path):
    cfg = fdlkit.load(f"experiments/{target}")
    assert [str(finding) for finding in fdlkit.check(cfg)] == []
    trainer = fdlkit.build(cfg)
    assert trainer.train(tmp_path / "run").step == trainer.num_train_steps
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    numbers = [json.loads(line) for line in lines]
    losses = [line["loss"] for line in numbers if "loss" in line]
    (*_, last) = [line["eval/loss"] for line in numbers if "eval/loss" in line]
    language = trainer.train_data.source
    guess, floor = math.log(language.vocab_size), language.entropy
    # From what a uniform guess costs, or more, most of the way to what can be known.
    assert losses[0] > guess - 1.0
    assert floor - 0.05 < last < floor + 0.5 * (guess - floor)


@pytest.mark.slow
def test_plain_sharded_and_pipelined_twins_have_the_same_losses():
    done = subprocess.run(
        [sys.executable, "-m", "tests.experiments.eight_devices"],
        env=os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=8"},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    for losses in json.loads(done.stdout).values():
        plain = losses.pop("plain")
        assert len(plain) == 4 and plain[-1] < plain[0]
        for name, other in losses.items():
            np.testing.assert_allclose(other, plain, rtol=2e-5, err_msg=name)


def start(workdir: Path, target: str, mesh: str, processes: int) -> list[Program]:
    """A twin's run, as so many processes of four devices; one has one device."""
    several = [f"--coordinator=localhost:{free_port()}", f"--num_processes={processes}"]
    return [
        Program(
            workdir,
            *([*several, f"--process_id={number}"] if processes > 1 else []),
            target=f"tests/experiments/twins.py:twin(target='{target}',mesh='{mesh}')",
            environment=FOUR_DEVICES if processes > 1 else {"XLA_FLAGS": ""},
        )
        for number in range(processes)
    ]


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.parametrize("target", ["c4.py:tiny", "gpt3.py:tiny"])
def test_twins_on_two_slices_pipelined_or_not_have_the_plain_losses(target, tmp_path):
    runs = {"plain": 1, "two slices": 2, "stages across slices": 2}
    for mesh, processes in runs.items():
        assert_ended_well(start(tmp_path / mesh, target, mesh, processes))
    plain, *others = (logged(tmp_path / mesh) for mesh in runs)
    assert len(plain) == 4 and plain[-1]["loss"] < plain[0]["loss"]
    for other in others:
        for a, b in zip(plain, other, strict=True):
            assert a.keys() == b.keys()
            for name, value in a.items():
                np.testing.assert_allclose(b[name], value, rtol=2e-4, err_msg=name)
