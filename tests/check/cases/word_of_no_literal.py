"""A word that is none of the choices."""

from __future__ import annotations

import dataclasses
from typing import Literal

import fiddle as fdl


@dataclasses.dataclass
class Attention:
    kernel: Literal["dot", "flash", "splash"] = "dot"

    def call(self):
        return self.kernel


def broken():
    return fdl.Config(Attention, kernel="falsh")
