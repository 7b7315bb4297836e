"""Text to token ids and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Protocol

import numpy as np


class Tokenizer(Protocol):
    """What the corpora and the trainer ask of a tokenizer.

    Attributes:
      name: Names the vocabulary: two tokenizers with one name give the same ids
        for the same text. It is part of the key under which token files are kept.
      vocab_size: Ids are in `[0, vocab_size)`.
      separator: The id that stands between documents, and for no text.
      bytes_per_token: `[vocab]` int32, the bytes of text that each id stands for;
        0 for the separator. Bits per byte follow from it exactly.
    """

    @property
    def name(self) -> str: ...

    @property
    def vocab_size(self) -> int: ...

    @property
    def separator(self) -> int: ...

    @property
    def bytes_per_token(self) -> np.ndarray: ...

    def encode(self, text: str | bytes) -> np.ndarray:
        """The ids of one document's text, without separators. `[time]`"""

    def decode(self, tokens: Iterable[int] | np.ndarray) -> str:
        """The text of `tokens`, which are `[time]`."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ByteTokenizer:
    """One token a byte of UTF-8; byte 0, which text does not hold, separates.

    Usage:

        tokenizer = ByteTokenizer()
        tokenizer.decode(tokenizer.encode("naïve")) == "naïve"
    """

    @property
    def name(self) -> str:
        return "bytes"

    @property
    def vocab_size(self) -> int:
        return 256

    @property
    def separator(self) -> int:
        return 0

    @property
    def bytes_per_token(self) -> np.ndarray:
        counts = np.ones(self.vocab_size, np.int32)
        counts[self.separator] = 0
        return counts

    def encode(self, text: str | bytes) -> np.ndarray:
        """The bytes of `text`. `[time]` uint8

        Raises:
          ValueError: The text holds a zero byte, so it is not text.
        """
        raw = text.encode() if isinstance(text, str) else text
        position = raw.find(b"\0")
        if position >= 0:
            raise ValueError(f"a zero byte at position {position}: this is not text")
        return np.frombuffer(raw, np.uint8)

    def decode(self, tokens: Iterable[int] | np.ndarray) -> str:
        """The text of `tokens`; separators stay as zero characters.

        A window may begin or end inside a character of several bytes: what is left
        of such a character becomes U+FFFD.
        """
        ids = np.asarray(tokens if isinstance(tokens, np.ndarray) else list(tokens))
        return ids.astype(np.uint8).tobytes().decode(errors="replace")
