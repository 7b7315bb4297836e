"""A dtype that NumPy does not know."""

from __future__ import annotations

import dataclasses
from typing import Any

import fiddle as fdl


@dataclasses.dataclass
class Layer:
    dtype: Any = "float32"

    def call(self):
        return self.dtype


def broken():
    return fdl.Config(Layer, dtype="bfloat61")
