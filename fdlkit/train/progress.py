"""Telling a person how a run goes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Protocol, TextIO


class Progress(Protocol):
    """Who is told."""

    def say(self, text: str) -> None:
        """Something happened, in one line."""

    def update(self, step: int, values: Mapping[str, float]) -> None:
        """A log point: the numbers that were logged at this step."""


@dataclasses.dataclass(frozen=True)
class NoProgress:
    """Nobody is told."""

    def say(self, text: str) -> None:
        """Does nothing."""

    def update(self, step: int, values: Mapping[str, float]) -> None:
        """Does nothing."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class LineProgress:
    """A line of text a log point.

    Attributes:
      stream: Where the lines go.
      num_train_steps: The last step, for `step 100/1000`.
    """

    stream: TextIO
    num_train_steps: int

    def say(self, text: str) -> None:
        """Prints the line."""
        print(text, file=self.stream, flush=True)

    def update(self, step: int, values: Mapping[str, float]) -> None:
        """Prints step and numbers."""
        self.say(f"step {step}/{self.num_train_steps}  {format_values(values)}")


def format_values(values: Mapping[str, float]) -> str:
    """`loss 2.345  rows 25,830`: four significant digits, and whole numbers in full.

    What is no number, a histogram, is left out.
    """
    numbers = {n: v for n, v in values.items() if isinstance(v, float | int)}
    return "  ".join(f"{name} {_written(value)}" for name, value in numbers.items())


def _written(value: float) -> str:
    # Past 2**53 a float cannot tell whole numbers apart.
    whole = abs(value) <= 2**53 and float(value).is_integer()
    return f"{int(value):,}" if whole else f"{value:.4g}"
