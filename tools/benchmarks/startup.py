"""What the program costs before it does anything: CPU seconds of whole processes.

`python -m fdlkit` is measured, which is the installed command without its script.
"""

from __future__ import annotations

import dataclasses
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from fdlkit.cli.main import VERBS

ROOT = Path(__file__).parents[2]
TARGET = "experiments/lm.py:base"
LINE = f"fdlkit show {TARGET} --fdl_set=model.hi"


@dataclasses.dataclass(frozen=True)
class Cost:
    """What a command of ours may cost beside a peer's.

    Attributes:
      command: The arguments of the program.
      peer: What the peer imports.
      limit: The largest ratio of the two.
    """

    command: Sequence[str]
    peer: str
    limit: float


FIDDLE = "fiddle"
ALL_THREE = "fiddle, flax.linen, optax"
COSTS = {
    "--help": Cost(["--help"], FIDDLE, 0.5),
    **{
        f"{verb.name} --help": Cost([verb.name, "--help"], FIDDLE, 0.5)
        for verb in VERBS
    },
    "show experiments/lm.py": Cost(["show", "experiments/lm.py"], FIDDLE, 0.5),
    f"show {TARGET}": Cost(["show", TARGET], ALL_THREE, 1.25),
    "TAB behind a path": Cost(["__complete", "fish", LINE], ALL_THREE, 1 / 3),
}


def cpu_seconds(arguments: Sequence[str], cache: str) -> float:
    """User and system seconds of one Python process and its children."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": cache}
    with subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            assert process.stderr is not None
            raise RuntimeError(process.stderr.read().decode())
    return used.ru_utime + used.ru_stime


def one_round(cache: str) -> Mapping[str, float]:
    """Everything once, the peers before and after ours."""
    seconds = {}
    for peer in (FIDDLE, ALL_THREE):
        seconds[peer] = cpu_seconds(["-c", f"import {peer}"], cache)
    for name, cost in COSTS.items():
        seconds[name] = cpu_seconds(["-m", "fdlkit", *cost.command], cache)
    for peer in (FIDDLE, ALL_THREE):
        seconds[f"{peer} again"] = cpu_seconds(["-c", f"import {peer}"], cache)
    return seconds


def main(rounds: int) -> None:
    """Ours beside the peers'."""
    with tempfile.TemporaryDirectory() as cache:
        one_round(cache)  # files are read from disk, and what TAB offers is kept
        taken = [one_round(cache) for _ in range(rounds)]
    print(f"CPU of whole processes, {rounds} rounds, medians")
    for peer in (FIDDLE, ALL_THREE):
        again = [each[f"{peer} again"] / each[peer] for each in taken]
        median = statistics.median(each[peer] for each in taken)
        print(
            f"  import {peer:29} {1000 * median:5.0f} ms   "
            f"A/A {statistics.median(again):.2f} ({min(again):.2f} to {max(again):.2f})"
        )
    for name, cost in COSTS.items():
        # The machine's drift within a round cancels out in the peer's mean.
        ratios = [
            2 * each[name] / (each[cost.peer] + each[f"{cost.peer} again"])
            for each in taken
        ]
        median = statistics.median(each[name] for each in taken)
        print(
            f"  fdlkit {name:29} {1000 * median:5.0f} ms   "
            f"{statistics.median(ratios):.2f} x import {cost.peer} "
            f"({min(ratios):.2f} to {max(ratios):.2f}; at most {cost.limit:.2f})"
        )
