"""What the configs beside this file are of; it knows nothing of Fiddle."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class LineModel:
    slope: float
    offset: float
    dtype: str = "float64"

    def __call__(self, x: float) -> float:
        return self.slope * x + self.offset


class LineReader:
    def __init__(self, path: str, skip: int = 0):
        self.path = path
        self.skip = skip


class Scorer:
    def __init__(self, model: LineModel, reader: LineReader):
        self.model = model
        self.reader = reader

    def score(self, x: float) -> float:
        return self.model(x)
