"""What `make lint` refuses: each rule tried on the smallest text that breaks it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

DOC = '"""Doc."""\n'


def codes(root, text, path):
    """The codes of ruff's findings in a text, were it a file of this repo."""
    command = [sys.executable, "-m", "ruff", "check", "--output-format=json"]
    done = subprocess.run(
        [*command, f"--stdin-filename={path}", "-"],
        input=text,
        cwd=root,
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout, done.stderr
    return {finding["code"] for finding in json.loads(done.stdout)}


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("D100", "A = 1\n"),
        ("D101", DOC + "\n\nclass A:\n    pass\n"),
        ("D103", DOC + "\n\ndef f():\n    pass\n"),
        ("F401", DOC + "\nimport os\n"),
        ("F403", DOC + "\nfrom os import *\n"),
        ("TID252", DOC + "\nfrom . import os\n"),
        ("PGH003", DOC + "\nA: int = 'a'  # type: ignore\n"),
        ("FIX002", DOC + "\nA = 1  # TO" + "DO: two\n"),
        ("BLE001", DOC + "\ntry:\n    A = 1\nexcept Exception:\n    A = 2\n"),
        ("T201", DOC + "\nprint(1)\n"),
        ("ERA001", DOC + "\n# A = f(1)\nA = 1\n"),
        ("E501", DOC + "\nA = " + "1" * 99 + "\n"),
    ],
)
def test_ruff_refuses(root, code, text):
    assert code in codes(root, text, "fdlkit/nn/example.py")


def test_ruff_lets_a_plain_module_pass(root):
    text = (
        DOC + '\n\ndef double(x: int) -> int:\n    """Twice x."""\n    return 2 * x\n'
    )
    assert not codes(root, text, "fdlkit/nn/example.py")


def test_the_command_line_may_print(root):
    assert not codes(root, DOC + "\nprint(1)\n", "fdlkit/cli/show.py")
