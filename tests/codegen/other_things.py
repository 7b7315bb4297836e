"""A second module with a class of the same name."""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass
class Box:
    z: Any = None


def scale(x: float) -> float:
    return x
