"""Token streams that are made up, deterministic, and can be learnt."""

from __future__ import annotations

import dataclasses
import math
from typing import get_args

import numpy as np

from fdlkit import suggest
from fdlkit.data.corpus import Split
from fdlkit.data.source import Source
from fdlkit.data.spec import ArraySpec
from fdlkit.errors import UserError


@dataclasses.dataclass(frozen=True, kw_only=True)
class SyntheticTokens(Source):
    """Examples `tokens` and `labels` `[time]` int32 of a simple language.

    After token `t` comes `(t + step) % vocab_size`, but for a share of `noise` of the
    places, where any token comes, each as likely. So the best loss that there is is
    known (`entropy`), it is reached by looking one token back, and a model that learns
    nothing stays at `log(vocab_size)`. What benchmarks are run on, and experiments
    whose own data is elsewhere.

    Example k of a split is a function of (seed, k) alone, and no example is held in
    memory.

    Attributes:
      vocab_size: The number of tokens.
      length: The length of a row (`time`), in tokens.
      num_examples: Rows in an epoch.
      step: How far the next token is from the last.
      noise: The share of places with a token drawn at random, in [0, 1].
      split: `train` or `eval`: other rows of the same language.
      seed: Another one has other rows of the same language.
    """

    vocab_size: int
    length: int
    num_examples: int = 1 << 20
    step: int = 1
    noise: float = 0.1
    split: Split = "train"
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("vocab_size", "length", "num_examples"):
            if getattr(self, name) < 1:
                raise UserError(f"{name}={getattr(self, name)} of made-up tokens")
        if not 0 <= self.noise <= 1:
            raise UserError(f"noise={self.noise} is not a share: it is in [0, 1]")
        if self.split not in get_args(Split):
            meant = suggest.hint(str(self.split), get_args(Split))
            raise UserError(
                f"no split {self.split!r}",
                *([f"  {meant}"] if meant else []),
                "  splits: train, eval",
            )

    @property
    def entropy(self) -> float:
        """The loss of a model that knows the language, in nats a token."""
        other = self.noise / self.vocab_size
        right = 1 - self.noise + other
        wrong = (self.vocab_size - 1) * other
        return -right * math.log(right) - (wrong * math.log(other) if wrong else 0)

    @property
    def fingerprint(self) -> str:
        """All that the rows are a function of."""
        return repr(self)

    def __len__(self) -> int:
        return self.num_examples

    def take(self, indices: np.ndarray, epochs: np.ndarray) -> dict[str, np.ndarray]:
        """The rows at `indices`, the same in every epoch."""
        del epochs
        rows = np.stack([self._row(int(index)) for index in indices])
        return {"tokens": rows[:, :-1], "labels": rows[:, 1:]}

    def example_spec(self) -> dict[str, ArraySpec]:
        """The specs of a row; makes none."""
        spec = ArraySpec(shape=(self.length,), dtype=np.dtype(np.int32), axes=("time",))
        return {"tokens": spec, "labels": spec}

    def _row(self, index: int) -> np.ndarray:
        """`[time + 1]`: a token and the `time` that follow it."""
        number = 2 * index + (self.split == "eval")
        draw = np.random.Generator(np.random.Philox(key=[self.seed, number]))
        size = self.length + 1
        jumps = draw.random(size) < self.noise
        jumps[0] = True
        anywhere = draw.integers(0, self.vocab_size, size)
        places = np.arange(size)
        last = np.maximum.accumulate(np.where(jumps, places, 0))
        tokens = anywhere[last] + (places - last) * self.step
        return (tokens % self.vocab_size).astype(np.int32)
