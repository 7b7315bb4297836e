"""Loops that take turns in one process, a few steps at a time.

A shared machine changes its pace within seconds. Of two runs of a few seconds each, one
after the other, that drift is all that is seen; of turns of some hundred milliseconds
both loops get the same of it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor


class Turns:
    """Whose turn it is, and what each has used in its turns.

    Every loop runs in a thread of its own and goes on only while it has the turn. It
    calls `end` when all of its steps up to one are finished, and gives the turn away
    there once it has made enough of them.

    Attributes:
      wall: Seconds by name, from the first turn that counts to the last.
      cpu: The same of the loop's own thread.
      steps: How many steps that took.
    """

    def __init__(self, names: list[str], *, length: int, first: int, last: int):
        """Turns among some loops.

        Args:
          names: Of the loops, in their order.
          length: Steps of a turn, at least.
          first: Turns that begin before this step do not count.
          last: And neither those that end after this one.
        """
        self.wall = dict.fromkeys(names, 0.0)
        self.cpu = dict.fromkeys(names, 0.0)
        self.steps = dict.fromkeys(names, 0)
        self._queue = list(names)
        self._length = length
        self._range = (first, last)
        self._changed = threading.Condition()
        self._began: dict[str, tuple[int, float, float]] = {}

    def run(self, loops: Mapping[str, Callable[[], object]]) -> None:
        """Runs the loops, each to its end.

        Raises:
          Exception: What the first of them that failed has raised.
        """
        with ThreadPoolExecutor(len(loops)) as threads:
            started = [
                threads.submit(self._run_one, name, loop)
                for name, loop in loops.items()
            ]
        for one in started:
            one.result()

    def _run_one(self, name: str, loop: Callable[[], object]) -> None:
        self._wait(name)
        try:
            loop()
        finally:
            with self._changed:
                self._queue.remove(name)
                self._changed.notify_all()

    def is_over(self, name: str, step: int) -> bool:
        """Whether this loop has made enough steps for one turn."""
        began, _, _ = self._began.setdefault(name, _now(step))
        return step - began >= self._length

    def end(self, name: str, step: int) -> float:
        """All steps up to this one are finished: another's turn, if it was enough.

        Returns:
          The seconds that it then waited for the others.
        """
        if not self.is_over(name, step):
            return 0.0
        before, wall, cpu = self._began[name]
        _, at, spent = _now(step)
        if before >= self._range[0] and step <= self._range[1]:
            self.wall[name] += at - wall
            self.cpu[name] += spent - cpu
            self.steps[name] += step - before
        with self._changed:
            self._queue.remove(name)
            self._queue.append(name)
            self._changed.notify_all()
        self._wait(name)
        self._began[name] = _now(step)
        return time.perf_counter() - at

    def per_step(self, name: str) -> tuple[float, float]:
        """Microseconds of wall and of thread time a step."""
        steps = self.steps[name]
        return self.wall[name] / steps * 1e6, self.cpu[name] / steps * 1e6

    def _wait(self, name: str) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._queue[0] == name)


def _now(step: int) -> tuple[int, float, float]:
    return step, time.perf_counter(), time.thread_time()
