"""From signals to a run that stops cleanly, and from its end to an exit code."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

from fdlkit.train.stop import Stop

SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextlib.contextmanager
def stop_on_signals() -> Iterator[Stop]:
    """A flag that SIGTERM and Ctrl-C raise while the block runs.

    A second signal of the same kind does what it does by default, at once: whoever
    cannot wait for a checkpoint is not made to.
    """
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        # Python delivers signals to the main thread only; a run inside another
        # program's thread is stopped by that program.
        yield stop
        return

    def handle(number: int, frame: object) -> None:
        stop.request(number)
        signal.signal(number, before[signal.Signals(number)])

    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number in SIGNALS:
        signal.signal(number, handle)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def exit_code(stop: Stop, *, finished: bool) -> int:
    """0, or what tells a supervisor to start the run again: 75, 130 for Ctrl-C."""
    if finished or stop.signal is None:
        return 0
    return 130 if stop.signal == signal.SIGINT else 75
