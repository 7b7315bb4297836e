"""Which batches of its data an evaluation reads: all, the first, or the next ones.

Batches are global ones, whatever the number of processes. What the k-th evaluation of
a run reads follows from k alone, so there is no position to be saved: a run that was
stopped and started again, or that has more processes now, reads the same rows.
"""

from __future__ import annotations

import dataclasses

from fdlkit.data.pipeline import Pipeline
from fdlkit.errors import UserError

# Some batches in a row: the number of the first, and how many.
Span = tuple[int, int]


@dataclasses.dataclass(frozen=True)
class Epoch:
    """All of the data: every row once, or as often as its `num_epochs` says."""

    def spans(self, number: int, num_batches: int | None) -> list[Span]:
        """The batches of the evaluation with this number, from 0.

        Args:
          number: How many evaluations were before it.
          num_batches: How many batches there are; None: without end.
        """
        assert num_batches is not None  # see `refuse_endless`
        return [(0, num_batches)]


@dataclasses.dataclass(frozen=True)
class First:
    """The first batches of the data, the same ones every time.

    Attributes:
      batches: How many; if the data has fewer, all that it has.
    """

    batches: int

    def __post_init__(self) -> None:
        _check_count(self)

    def spans(self, number: int, num_batches: int | None) -> list[Span]:
        """See `Epoch.spans`."""
        return [
            (0, self.batches if num_batches is None else min(self.batches, num_batches))
        ]


@dataclasses.dataclass(frozen=True)
class Rolling:
    """The next batches of the data; after its last one comes its first again.

    Attributes:
      batches: How many; if the data has fewer, it is read more than once.
    """

    batches: int

    def __post_init__(self) -> None:
        _check_count(self)

    def spans(self, number: int, num_batches: int | None) -> list[Span]:
        """See `Epoch.spans`."""
        first = number * self.batches
        if num_batches is None:
            return [(first, self.batches)]
        spans, left = [], self.batches
        while left:
            first %= num_batches
            count = min(left, num_batches - first)
            spans.append((first, count))
            first, left = first + count, left - count
        return spans


Coverage = Epoch | First | Rolling


def refuse_endless(data: Pipeline, path: str) -> None:
    """Refuses data of which there is no `Epoch`.

    Args:
      data: What is evaluated on.
      path: Where in the trainer it is.

    Raises:
      UserError: The data has no end.
    """
    if data.num_batches is None:
        raise UserError(
            f"{path} repeats for ever (num_epochs=None), and coverage=Epoch() reads "
            "all of it",
            f"give {path} num_epochs=1, or the evaluator coverage=First(n) or "
            "Rolling(n)",
        )


def rows_in(pipeline: Pipeline, spans: list[Span]) -> int:
    """How many rows of some batches are examples, and no padding."""
    if pipeline.num_epochs is None:
        return sum(count for _, count in spans) * pipeline.batch_size
    total = pipeline.num_epochs * pipeline.num_examples
    size = pipeline.batch_size
    return sum(min(count * size, total - first * size) for first, count in spans)


def rows_expected(pipeline: Pipeline, coverage: Coverage, spans: list[Span]) -> int:
    """How many rows an evaluation is to see, by what its coverage says.

    All rows for `Epoch`, also those that `remainder="drop"` leaves out; those of as
    many batches as were asked for, also where the data has fewer.
    """
    if isinstance(coverage, Epoch):
        return (pipeline.num_epochs or 0) * pipeline.num_examples
    if coverage.batches > sum(count for _, count in spans):
        return coverage.batches * pipeline.batch_size
    return rows_in(pipeline, spans)


def _check_count(coverage: First | Rolling) -> None:
    if not isinstance(coverage.batches, int) or coverage.batches < 1:
        raise ValueError(
            f"{type(coverage).__name__}({coverage.batches}): it counts batches, so at "
            "least 1; Epoch() is all of the data"
        )
