"""Sums without rounding, on the host: the same digits in whatever order."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

# The exponent of the smallest float32 that is not 0, and the bits of an int32: both
# together make any sum of such numbers a whole number of units of 2**-180.
_LOWEST = -148
_BITS = 32
_UNITS = 1 << (_BITS - _LOWEST)


@dataclasses.dataclass(frozen=True)
class ExactSum:
    """A sum of numbers, as it is before anything is rounded.

    A set of numbers has one, however the set is cut into parts and in whatever order
    the parts are added.

    Attributes:
      units: What is finite of it, in units of 2**-180.
      beyond: What is not: a sum of NaNs and infinities; 0 if there are none.
    """

    units: int = 0
    beyond: float = 0.0

    def __add__(self, other: ExactSum) -> ExactSum:
        return ExactSum(self.units + other.units, self.beyond + other.beyond)

    def __float__(self) -> float:
        """The nearest float64."""
        return self.units / _UNITS + self.beyond


def exact_sum(numbers: Any) -> ExactSum:
    """The sum of all numbers of an array.

    Args:
      numbers: float32 or int32, of any shape; or a sum, which is returned.
    """
    if isinstance(numbers, ExactSum):
        return numbers
    flat = np.asarray(numbers, np.float64).reshape(-1)
    is_finite = np.isfinite(flat)
    beyond = sum(flat[~is_finite].tolist())
    mantissas, exponents = np.frexp(flat[is_finite])
    wholes = np.ldexp(mantissas, _BITS).astype(np.int64)
    units = 0
    for exponent in np.unique(exponents).tolist():
        part = int(wholes[exponents == exponent].sum())
        units += part << (exponent - _LOWEST)
    return ExactSum(units, beyond)


def exact_ratio(numerator: Any, denominator: Any) -> float:
    """The quotient of two sums, rounded once; 0 where nothing was counted.

    Args:
      numerator: An array or a sum, see `exact_sum`.
      denominator: The same.
    """
    above, below = exact_sum(numerator), exact_sum(denominator)
    if above.beyond or below.beyond:
        return math.nan if below.beyond else above.beyond
    return above.units / below.units if below.units else 0.0
