"""One element of a list is of another type."""

from __future__ import annotations

import dataclasses

import fiddle as fdl


@dataclasses.dataclass
class Widths:
    widths: list[int]
    names: dict[str, float] = dataclasses.field(default_factory=dict)

    def call(self):
        return self.widths, self.names


def broken():
    return fdl.Config(Widths, widths=[8, "16", 32], names={"a": 1, "b": None})
