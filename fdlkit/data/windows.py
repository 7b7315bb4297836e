"""Windows of equal length over a corpus' tokens."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from fdlkit.data.corpus import Corpus
from fdlkit.data.source import Source
from fdlkit.data.spec import ArraySpec
from fdlkit.data.token_file import TokenStream, token_stream
from fdlkit.data.tokenizer import Tokenizer
from fdlkit.errors import UserError

# The golden ratio's fraction: its multiples, modulo 1, spread evenly however many
# are taken, so that few epochs already cut the text at far-apart places.
_SPREAD = 0.6180339887498949


@dataclasses.dataclass(frozen=True)
class TokenWindows(Source):
    """Examples `tokens` and `labels` `[time]` int32: each label is the next token.

    An epoch is the corpus' tokens, documents joined by separators, cut into windows
    side by side: each token after the first is a label once; what is left at the
    end and shorter than a window is left out. Epoch 0 starts at the first token and
    each later one at another offset, so that the cuts, and with them what a label's
    context is, differ from pass to pass.

    Attributes:
      corpus: The texts.
      tokenizer: Makes tokens of them.
      length: The length of a window (`time`), in tokens.
    """

    corpus: Corpus
    tokenizer: Tokenizer
    _: dataclasses.KW_ONLY
    length: int

    def __post_init__(self) -> None:
        if self.length < 1:
            raise UserError(f"length={self.length} of windows is not positive")

    @functools.cached_property
    def stream(self) -> TokenStream:
        """All tokens of the corpus.

        Raises:
          UserError: The corpus is missing, not text or shorter than one window.
        """
        stream = token_stream(self.corpus, self.tokenizer)
        if len(stream.tokens) <= self.length:
            raise UserError(
                f"a corpus of {len(stream.tokens):,} tokens is too short for a "
                f"window of length={self.length} and the label after it",
                f"  {self.corpus}",
            )
        return stream

    def text_tokenizer(self) -> Tokenizer:
        """The tokenizer."""
        return self.tokenizer

    @property
    def fingerprint(self) -> str:
        """The content of the corpus and the tokenizer's name, hashed."""
        return self.stream.fingerprint

    def __len__(self) -> int:
        return (len(self.stream.tokens) - 1) // self.length

    def take(self, indices: np.ndarray, epochs: np.ndarray) -> dict[str, np.ndarray]:
        """The windows at `indices`, with their epoch's offset."""
        tokens = self.stream.tokens
        offsets = (epochs * _SPREAD % 1.0 * self.length).astype(np.int64)
        last_start = len(tokens) - 1 - self.length
        starts = np.minimum(indices * self.length + offsets, last_start)
        windows = np.lib.stride_tricks.sliding_window_view(tokens, self.length + 1)
        taken = windows[starts]
        return {
            "tokens": taken[:, :-1].astype(np.int32),
            "labels": taken[:, 1:].astype(np.int32),
        }

    def example_spec(self) -> dict[str, ArraySpec]:
        """The specs of a window; needs no corpus."""
        spec = ArraySpec(shape=(self.length,), dtype=np.dtype(np.int32), axes=("time",))
        return {"tokens": spec, "labels": spec}
