"""An absolute reference leads nowhere since its config was wrapped."""

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
class Wrapper:
    model: Model

    def call(self):
        return self.model


def broken():
    return fdl.Config(Wrapper, fdl.Config(Model, hidden=32, mlp=ref("hidden") * 4))
