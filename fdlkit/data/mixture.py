"""Several sources as one, each with its share of the examples."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from fdlkit.data.source import RandomAccess, Source
from fdlkit.errors import UserError


@dataclasses.dataclass(frozen=True)
class Mixture:
    """A weighted mixture of sources whose examples have the same specs.

    Examples are drawn in a fixed, even rotation (not at random): in any stretch of
    the data each source has its share to within one example. An epoch ends when the
    first source would have to repeat itself; in the next, each goes on where it was.

    Usage:

        Mixture([books, code], weights=[3, 1])

    Attributes:
      sources: What a pipeline takes, other mixtures included.
      weights: The share of each source, in any unit; see `rotation_counts`.
    """

    sources: Sequence[
        Source | RandomAccess | Callable[[], Mapping[str, np.ndarray]] | Mixture
    ]
    weights: Sequence[float]

    def __post_init__(self) -> None:
        if len(self.sources) != len(self.weights) or not self.sources:
            raise UserError(
                f"a mixture of {len(self.sources)} sources has "
                f"{len(self.weights)} weights; it needs one for each"
            )
        if not all(0 < weight < float("inf") for weight in self.weights):
            raise UserError(
                f"weights={list(self.weights)} of a mixture: all must be positive",
                "  leave out the source whose weight is 0",
            )
