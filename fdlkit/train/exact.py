"""Sums without rounding, on the host: the same digits in whatever order."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import operator
from typing import Any

import numpy as np

# The exponent of the smallest float32 that is not 0, and the bits of an int32: both
# together make any sum of such numbers a whole number of units of 2**-180.
_LOWEST = -148
_BITS = 32
_UNITS = 1 << (_BITS - _LOWEST)
# As many numbers of 32 bits as a float64, of 53, can add up.
_AT_ONCE = 1 << (53 - _BITS)
# So few that Python's own numbers are quicker than NumPy's calls: to add to, and where
# nothing is added and the sum is only rounded.
_FEW = 32
_FEW_TO_ROUND = 1024


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
    if len(flat) <= _FEW:
        with contextlib.suppress(OverflowError, ValueError):  # not finite
            # Another exponent, within a float64's: the product is exact.
            return ExactSum(sum(map(int, (flat * float(_UNITS)).tolist())))
    if len(flat) > _AT_ONCE:
        parts = np.array_split(flat, -(-len(flat) // _AT_ONCE))
        return functools.reduce(operator.add, map(exact_sum, parts))
    beyond = 0.0
    is_finite = np.isfinite(flat)
    if not is_finite.all():
        beyond = sum(flat[~is_finite].tolist())
        flat = flat[is_finite]
    mantissas, exponents = np.frexp(flat)
    exponents -= _LOWEST
    # A float64 holds each of these sums to the last bit.
    sums = np.bincount(exponents, np.ldexp(mantissas, _BITS))
    filled = np.flatnonzero(sums)
    units = sum(
        int(part) << place
        for place, part in zip(filled.tolist(), sums[filled].tolist(), strict=True)
    )
    return ExactSum(units, beyond)


def exact_ratio(numerator: Any, denominator: Any) -> float:
    """The quotient of two sums, each rounded once; 0 where nothing was counted.

    Args:
      numerator: An array or a sum, see `exact_sum`.
      denominator: The same.
    """
    above, below = _rounded(numerator), _rounded(denominator)
    if not math.isfinite(below):
        return math.nan
    if not math.isfinite(above):
        return above
    return above / below if below else 0.0


def _rounded(numbers: Any) -> float:
    """The float64 nearest to a sum, as `float(exact_sum(numbers))`."""
    if not isinstance(numbers, ExactSum) and np.size(numbers) <= _FEW_TO_ROUND:
        with contextlib.suppress(OverflowError, ValueError):  # not finite
            return math.fsum(np.asarray(numbers).reshape(-1).tolist())
    return float(exact_sum(numbers))
