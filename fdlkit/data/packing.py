"""Whole documents packed side by side into rows of equal length."""

from __future__ import annotations

import bisect
import dataclasses
import functools

import numpy as np

from fdlkit.data.corpus import Corpus
from fdlkit.data.source import Source
from fdlkit.data.spec import ArraySpec
from fdlkit.data.token_file import TokenStream, token_stream
from fdlkit.data.tokenizer import Tokenizer
from fdlkit.errors import UserError


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class PackPlan:
    """Which pieces of a token stream go in which row.

    Pieces are listed row by row, in the order in which they stand in the row.

    Attributes:
      starts: `[pieces]` int64, where a piece's tokens begin in the stream.
      lengths: `[pieces]` int64, its number of tokens.
      first_piece: `[rows + 1]` int64; row r holds pieces
        `first_piece[r]:first_piece[r + 1]`.
    """

    starts: np.ndarray
    lengths: np.ndarray
    first_piece: np.ndarray


def pack(starts: np.ndarray, lengths: np.ndarray, *, row_length: int) -> PackPlan:
    """Packs documents into few rows of `row_length`, the same way every time.

    A document longer than a row is cut; the pieces, longest first, each go in the
    fullest row that has room (best fit decreasing). No token is lost or repeated.

    Args:
      starts: `[documents]`, where each begins in the stream.
      lengths: `[documents]`, the number of its tokens, at least 1.
      row_length: The length of a row, in tokens.

    Returns:
      The plan.
    """
    pieces = -(-lengths // row_length)  # of each document, rounded up
    document = np.repeat(np.arange(len(lengths)), pieces)
    into = _count_up(pieces) * row_length
    piece_starts = starts[document] + into
    piece_lengths = np.minimum(lengths[document] - into, row_length)

    # A stable sort keeps pieces of one length in the order of the corpus. Those that
    # fill a row come first and need no search.
    longest_first = np.argsort(-piece_lengths, kind="stable")
    alone, others = np.split(longest_first, [np.sum(piece_lengths == row_length)])
    rows: list[list[int]] = []
    rows_with_room: dict[int, list[int]] = {}  # room left -> rows
    rooms: list[int] = []  # the keys above, sorted
    for piece in others.tolist():
        length = int(piece_lengths[piece])
        fit = bisect.bisect_left(rooms, length)
        if fit < len(rooms):
            room = rooms[fit]
            row = rows_with_room[room].pop()
            if not rows_with_room[room]:
                del rows_with_room[room], rooms[fit]
        else:
            room, row = row_length, len(rows)
            rows.append([])
        rows[row].append(piece)
        room -= length
        if room and room not in rows_with_room:
            bisect.insort(rooms, room)
            rows_with_room[room] = []
        if room:
            rows_with_room[room].append(row)

    together = np.array([piece for row in rows for piece in row], np.int64)
    order = np.concatenate([alone, together])
    sizes = [*[1] * len(alone), *(len(row) for row in rows)]
    return PackPlan(
        starts=piece_starts[order],
        lengths=piece_lengths[order],
        first_piece=np.cumsum([0, *sizes], dtype=np.int64),
    )


@dataclasses.dataclass(frozen=True)
class PackedDocuments(Source):
    """Examples of `[time]`: several whole documents in each, kept apart by ids.

    A document's tokens are a separator and its text; its labels are the text and
    the separator that ends it. What is longer than `length` is cut, and each piece
    counts as a segment of its own. The rows are the same in every epoch.

    Entries, all `[time]`:
      tokens: int32.
      labels: int32, the next token of the same document.
      segment_ids: int32, 1, 2, … within a row, 0 on padding. Attention is to stay
        within a segment.
      positions: int32, from 0 in each segment, 0 on padding.
      mask: float32, 1 where there is a label, 0 on padding.

    Attributes:
      corpus: The texts.
      tokenizer: Makes tokens of them.
      length: The length of a row (`time`), in tokens.
    """

    corpus: Corpus
    tokenizer: Tokenizer
    _: dataclasses.KW_ONLY
    length: int

    def __post_init__(self) -> None:
        if self.length < 1:
            raise UserError(f"length={self.length} of rows is not positive")

    @functools.cached_property
    def stream(self) -> TokenStream:
        """All tokens of the corpus.

        Raises:
          UserError: The corpus is missing or not text.
        """
        return token_stream(self.corpus, self.tokenizer)

    @functools.cached_property
    def plan(self) -> PackPlan:
        """What goes in which row."""
        separators = np.flatnonzero(self.stream.tokens == self.tokenizer.separator)
        return pack(separators[:-1], np.diff(separators), row_length=self.length)

    def text_tokenizer(self) -> Tokenizer:
        """The tokenizer."""
        return self.tokenizer

    @property
    def fingerprint(self) -> str:
        """The content of the corpus and the tokenizer's name, hashed."""
        return self.stream.fingerprint

    def __len__(self) -> int:
        return len(self.plan.first_piece) - 1

    def take(self, indices: np.ndarray, epochs: np.ndarray) -> dict[str, np.ndarray]:
        """The rows at `indices`, the same in every epoch."""
        del epochs
        plan, tokens = self.plan, self.stream.tokens
        counts = plan.first_piece[indices + 1] - plan.first_piece[indices]
        segments = _count_up(counts)  # [pieces], from 0 in each row
        pieces = np.repeat(plan.first_piece[indices], counts) + segments
        lengths = plan.lengths[pieces]
        rows = np.repeat(np.arange(len(indices)), counts)

        # From here on one entry a token; `slots` are where each goes.
        positions = _count_up(lengths)
        reads = np.repeat(plan.starts[pieces], lengths) + positions
        row_of_token = np.repeat(rows, lengths)
        slots = row_of_token * self.length + _count_up(np.bincount(row_of_token))

        def placed(values: np.ndarray, dtype: type) -> np.ndarray:
            out: np.ndarray = np.zeros(len(indices) * self.length, dtype)
            out[slots] = values
            return out.reshape(len(indices), self.length)

        return {
            "tokens": placed(tokens[reads], np.int32),
            "labels": placed(tokens[reads + 1], np.int32),
            "segment_ids": placed(np.repeat(segments + 1, lengths), np.int32),
            "positions": placed(positions, np.int32),
            "mask": placed(np.ones(len(slots)), np.float32),
        }

    def example_spec(self) -> dict[str, ArraySpec]:
        """The specs of a row; needs no corpus."""
        integers = ArraySpec(
            shape=(self.length,), dtype=np.dtype(np.int32), axes=("time",)
        )
        return {
            "tokens": integers,
            "labels": integers,
            "segment_ids": integers,
            "positions": integers,
            "mask": dataclasses.replace(integers, dtype=np.dtype(np.float32)),
        }


def _count_up(counts: np.ndarray) -> np.ndarray:
    """`[2, 0, 3]` gives `[0, 1, 0, 1, 2]`."""
    begins = np.cumsum(counts) - counts
    return np.arange(counts.sum()) - np.repeat(begins, counts)
