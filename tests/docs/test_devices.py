"""docs/devices.md shows what the program says."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

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
