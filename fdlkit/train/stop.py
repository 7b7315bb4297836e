"""Asking a run to stop: a flag that the loop looks at before every step."""

from __future__ import annotations


class Stop:
    """Somebody else sets it (a signal handler); the loop only reads it.

    Attributes:
      signal: The number of the signal that asked, or None.
    """

    def __init__(self) -> None:
        self.signal: int | None = None

    def request(self, signal: int) -> None:
        """Asks the run to end after the current step, with a checkpoint."""
        self.signal = signal
