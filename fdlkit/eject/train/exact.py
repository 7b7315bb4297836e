"""Sums without rounding: with the fractions that Python has."""

from __future__ import annotations

import fractions
from typing import Any

import numpy as np


def exact_sum(numbers: Any) -> Any:
    """The sum of an array's numbers; of such a sum itself. No fraction: not finite."""
    if isinstance(numbers, fractions.Fraction | float):
        return numbers
    flat = np.asarray(numbers, np.float64).reshape(-1)
    if not np.isfinite(flat).all():
        return float(flat.sum())
    return sum(map(fractions.Fraction, flat.tolist()), fractions.Fraction())


def exact_ratio(numerator: Any, denominator: Any) -> float:
    """The quotient of two sums, each rounded once; 0 where nothing was counted."""
    above, below = float(exact_sum(numerator)), float(exact_sum(denominator))
    return above / below if below else 0.0
