"""docs/pictures.md shows what the program draws."""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LARGEST = 300_000


def test_every_picture_is_there_and_small_enough_to_look_at():
    for name in ("README.md", "docs/pictures.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        found = re.findall(r"""[("]([\w/]*pictures/[\w-]+\.\w+)[)"]""", text)
        assert len(found) >= 3
        for picture in found:
            path = (ROOT / name).parent / picture
            assert 1000 < path.stat().st_size < LARGEST, picture


def test_the_pictures_show_what_is_drawn_now():
    beside = str(pathlib.Path(sys.executable).parent)
    if not (
        shutil.which("graphviz-pure") or shutil.which("graphviz-pure", path=beside)
    ):
        pytest.skip("graphviz-pure is not installed in this environment: make setup")
    done = subprocess.run(
        [sys.executable, "tools/pictures.py", "--check"],
        check=False, cwd=ROOT, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
