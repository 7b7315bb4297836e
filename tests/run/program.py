"""Runs `fdlkit train` as a process, and strikes it at chosen moments."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
TIMES = ("steps_per_sec", "tokens_per_sec", "tflops_per_sec")
PATIENCE = 300  # seconds until a process that says nothing more is given up


class Program:
    """One start of `fdlkit train`, with what it has said so far on stderr."""

    def __init__(
        self,
        workdir: Path,
        *arguments: str,
        target: str = "experiments/lm.py:tiny",
        environment: Mapping[str, str] = {},
    ):
        command = [sys.executable, "-m", "fdlkit", "train", target]
        self.process = subprocess.Popen(
            [*command, f"--workdir={workdir}", *arguments],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)} | dict(environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line.rstrip("\n"))

    def wait_until(self, moment: Callable[[], bool]) -> None:
        """Returns as soon as the moment is there.

        Raises:
          AssertionError: The process ended before, or said nothing for too long.
        """
        deadline = time.monotonic() + PATIENCE
        while not moment():
            if self.process.poll() is not None:
                self._reader.join()
                if moment():
                    return
                raise AssertionError("it ended first:\n" + "\n".join(self.lines))
            assert time.monotonic() < deadline, "\n".join(self.lines)
            time.sleep(0.0005)

    def wait_for_line(self, begins: str) -> None:
        """Returns once a line that begins so was said."""
        self.wait_until(lambda: any(line.startswith(begins) for line in self.lines))

    def strike(self, number: signal.Signals) -> int:
        """Sends a signal; returns the exit code."""
        self.process.send_signal(number)
        return self.end()

    def end(self) -> int:
        """Waits for the end; returns the exit code."""
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError("it does not end:\n" + "\n".join(self.lines)) from None
        self._reader.join()
        return code


def half_saved(workdir: Path) -> list[Path]:
    """The checkpoints that are being written, or were when a kill came."""
    folder = workdir / "checkpoints"
    return list(folder.glob("*orbax-checkpoint-tmp*")) if folder.exists() else []


def logged(workdir: Path, *, ignoring: Sequence[str] = TIMES) -> list[dict]:
    """The lines of `metrics.jsonl` without what depends on the clock."""
    text = (workdir / "metrics.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    return [{k: v for k, v in line.items() if k not in ignoring} for line in lines]
