"""The text of a diff: the same in every process, and as wide as it may be."""

from __future__ import annotations

import os
import subprocess
import sys

import fiddle as fdl

from fdlkit.diff.compare import diff
from fdlkit.diff.text import render
from tests.diff.test_cases import NAMES, pair
from tests.graph.configs import Box


def test_the_same_pair_gives_the_same_bytes_in_every_process():
    program = (
        "from fdlkit.diff.compare import diff\n"
        "from fdlkit.diff.writing import write\n"
        "from tests.diff.test_cases import NAMES, pair\n"
        "for name in NAMES:\n"
        "    print(write(diff(*pair(name))))\n"
    )
    said = set()
    for seed in ("1", "2"):
        environment = os.environ | {
            "PYTHONHASHSEED": seed,
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            env=environment,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        said.add(done.stdout)
    assert len(said) == 1 and "fdlkit.diff/1" in said.pop()


def test_no_line_is_longer_than_the_width_and_colour_changes_no_text():
    for name in NAMES:
        changes = diff(*pair(name))
        assert max(map(len, render(changes, width=60).splitlines())) <= 60
        colored = render(changes, color=True)
        for code in ("1", "2", "31", "32", "33", "35", "0"):
            colored = colored.replace(f"\x1b[{code}m", "")
        assert colored == render(changes)


def test_long_values_are_cut_where_they_differ():
    a, b = fdl.Config(Box, a="x" * 500 + "old"), fdl.Config(Box, a="x" * 500 + "new")
    text = render(diff(a, b))
    assert "xold' → …" in text and text.endswith("xnew'\n") and len(text) < 150


def test_a_function_that_nothing_imports_is_told_without_its_address():
    def local():
        return 1

    text = render(diff(fdl.Config(Box, a=len), fdl.Config(Box, a=local)))
    assert "~ a: len → " in text and "local" in text and "0x" not in text
