"""From the start of the process to the end of its first step."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
HAND = [sys.executable, str(ROOT / "tools/benchmarks/hand_written.py")]


def seconds_to_first_step(command: list[str], cache: str) -> float:
    """Seconds until the program says that a step is finished."""
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "JAX_COMPILATION_CACHE_DIR": cache,
    }
    began = time.perf_counter()
    with subprocess.Popen(
        command, env=environment, cwd=ROOT, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        said = []
        for line in process.stderr:
            said.append(line)
            if line.startswith("step 1"):
                seconds = time.perf_counter() - began
                process.stderr.read()
                return seconds
    raise RuntimeError("no step was finished:\n" + "".join(said))


def train_command(workdir: str) -> list[str]:
    """`fdlkit train` of one step that says so."""
    return [
        *(sys.executable, "-m", "fdlkit", "train", "experiments/lm.py:base"),
        *(f"--workdir={workdir}", "--fresh"),
        *("--fdl_set=num_train_steps=60", "--fdl_set=log_every=1"),
        "--fdl_set=eval_data=None",
    ]


def main(rounds: int) -> None:
    """First and second start beside the hand-written program's."""
    hand, first, second, pairs, again = [], [], [], [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            cache, workdir = f"{folder}/cache", f"{folder}/run"
            hand.append(seconds_to_first_step(HAND, ""))
            first.append(seconds_to_first_step(train_command(workdir), cache))
            second.append(seconds_to_first_step(train_command(workdir), cache))
            again.append(seconds_to_first_step(HAND, ""))
            pairs.append((first[-1] / hand[-1], second[-1] / first[-1]))
    ratio = statistics.median(p[0] for p in pairs)
    cached = statistics.median(p[1] for p in pairs)
    spread = [b / a for a, b in zip(hand, again, strict=True)]
    print(f"start to first finished step of lm:base, {rounds} rounds")
    print(f"  hand-written          {statistics.median(hand):6.2f} s")
    print(f"  fdlkit, nothing cached {statistics.median(first):5.2f} s   {ratio:.2f} x")
    print(
        f"  fdlkit, second start  {statistics.median(second):6.2f} s   "
        f"{cached:.2f} x its first"
    )
    print(f"  A/A {min(spread):.2f} to {max(spread):.2f}")
