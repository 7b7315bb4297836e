"""Text to token ids and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Protocol

import numpy as np


class Tokenizer(Protocol):
    """What the corpora and the trainer ask of a tokenizer."""

    @property
    def name(self) -> str:
        """Names the vocabulary: tokenizers of one name give one text the same ids.

        It is part of the key under which token files are kept.
        """

    @property
    def vocab_size(self) -> int:
        """Ids are in `[0, vocab_size)`."""

    @property
    def separator(self) -> int:
        """The id that stands between documents, and for no text."""

    @property
    def bytes_per_token(self) -> np.ndarray:
        """The bytes of text that each id stands for, `[vocab]` int32.

        0 for the separator. Bits per byte follow from it exactly.
        """

    def encode(self, text: str | bytes) -> np.ndarray:
        """The ids of one document's text, without separators. `[time]`"""

    def decode(self, tokens: Iterable[int] | np.ndarray) -> str:
        """The text of `tokens`, which are `[time]`."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ByteTokenizer:
    """One token a byte of UTF-8; byte 0, which text does not hold, separates.

    Usage:

        ByteTokenizer().encode("né").tolist() == [110, 195, 169]
    """

    @property
    def name(self) -> str:
        """`bytes`."""
        return "bytes"

    @property
    def vocab_size(self) -> int:
        """256, the separator included."""
        return 256

    @property
    def separator(self) -> int:
        """0."""
        return 0

    @property
    def bytes_per_token(self) -> np.ndarray:
        """One for each id but the separator, `[vocab]` int32."""
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


@dataclasses.dataclass(frozen=True, kw_only=True)
class AsciiTokenizer:
    """One token a byte of ASCII; byte 0 separates, other bytes become one id.

    For models of 128 tokens. Bytes that are not ASCII (parts of other characters) are
    read as 26, ASCII's own "substitute", so what is measured in bits per byte is a
    text in which they are all alike.
    """

    @property
    def name(self) -> str:
        """`ascii`."""
        return "ascii"

    @property
    def vocab_size(self) -> int:
        """128, the separator included."""
        return 128

    @property
    def separator(self) -> int:
        """0."""
        return 0

    @property
    def bytes_per_token(self) -> np.ndarray:
        """One for each id but the separator, `[vocab]` int32."""
        counts = np.ones(self.vocab_size, np.int32)
        counts[self.separator] = 0
        return counts

    def encode(self, text: str | bytes) -> np.ndarray:
        """The bytes of `text`, 26 for what is not ASCII. `[time]` uint8

        Raises:
          ValueError: The text holds a zero byte, so it is not text.
        """
        raw = ByteTokenizer().encode(text)
        return np.where(raw < self.vocab_size, raw, np.uint8(26))

    def decode(self, tokens: Iterable[int] | np.ndarray) -> str:
        """The text of `tokens`; separators stay as zero characters."""
        return ByteTokenizer().decode(tokens)
