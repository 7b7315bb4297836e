"""An absolute reference means another value since its config was wrapped."""

from __future__ import annotations

import dataclasses
from typing import Any

import fiddle as fdl

from fdlkit import ref


@dataclasses.dataclass
class Model:
    hidden: int
    mlp: Any

    def call(self):
        return self.hidden, self.mlp


@dataclasses.dataclass
class Mlp:
    width: int

    def call(self):
        return self.width


@dataclasses.dataclass
class Distillation:
    hidden: int
    student: Model

    def call(self):
        return self.hidden, self.student


def broken():
    mlp = fdl.Config(Mlp, width=ref("hidden") * 4)
    student = fdl.Config(Model, hidden=32, mlp=mlp)
    return fdl.Config(Distillation, hidden=512, student=student)
