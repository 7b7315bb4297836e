"""docs/devices.md shows what the program says."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tools import scaling

ROOT = Path(__file__).parents[2]


def test_the_pipeline_of_the_page_is_sound():
    text = (ROOT / "docs" / "devices.md").read_text()
    (command, answer), *more = re.findall(r"```\n\$ (fdlkit .*?)\n(.*?)```", text, re.S)
    assert not more
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(command)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "XLA_FLAGS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == answer, done.stderr


@pytest.mark.parametrize("kind", ["v4", "v5e"])
def test_the_page_shows_the_costs_that_are_computed_now(kind, capsys):
    text = (ROOT / "docs" / "devices.md").read_text()
    shown = [line.split() for line in text.splitlines()]
    targets = ["experiments/c4.py:spmd_22b_adam_2xv4_128"]
    if kind == "v4":
        targets += ["experiments/gpt3.py:pipeline_gpt3_small_adam_8replicas"]
    assert scaling.main([f"--kind={kind}", *targets]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) > len(targets) + len(scaling.FOOT)
    for line in printed:
        assert line.split() in shown, line


def test_the_page_shows_every_experiment():
    text = (ROOT / "docs" / "devices.md").read_text()
    for target in scaling.EXPERIMENTS:
        assert re.search(rf"^{target.rpartition(':')[2]} ", text, re.M), target
