"""A large part was copied and is still the same."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import fiddle as fdl


@dataclasses.dataclass
class Part:
    width: int = 1
    depth: int = 1
    inner: Any = None

    def call(self):
        return self.width, self.depth, self.inner


@dataclasses.dataclass
class Pair:
    student: Part
    teacher: Part

    def call(self):
        return self.student, self.teacher


def broken():
    part = None
    for width in range(8):
        part = fdl.Config(Part, width=width, depth=2, inner=part)
    return fdl.Config(Pair, student=part, teacher=copy.deepcopy(part))
