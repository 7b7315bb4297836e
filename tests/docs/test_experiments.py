"""docs/experiments.md does what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_block_of_the_page_runs(tmp_path):
    text = (ROOT / "docs" / "experiments.md").read_text()
    experiment, kinds, stack, by_hand, built, own_text = re.findall(
        r"```python\n(.*?)```", text, re.DOTALL
    )
    commands = "".join(re.findall(r"```\n(fdlkit .*?)```", text, re.DOTALL))
    (tmp_path / "mine.py").write_text(experiment)
    (tmp_path / "kinds.py").write_text(kinds)
    (tmp_path / "stack.py").write_text(stack)
    (tmp_path / "by_hand.py").write_text(by_hand)
    (tmp_path / "built.py").write_text(built)
    (tmp_path / "own_text.py").write_text(own_text)
    lines = [
        [sys.executable, "by_hand.py"],
        [sys.executable, "kinds.py"],
        [sys.executable, "stack.py"],
        [sys.executable, "built.py"],
        [sys.executable, "own_text.py"],
        *([sys.executable, "-m", *line.split()] for line in commands.splitlines()),
    ]
    for line in lines:
        done = subprocess.run(
            line,
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{line}\n{done.stderr}"
    written = (tmp_path / "runs" / "mine" / "metrics.jsonl").read_text()
    assert '"examples_per_sec"' in written
    assert '"step": 60' in written
