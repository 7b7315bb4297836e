"""Which example stands at which position of the data, epoch after epoch.

Positions count on for ever. An order is arithmetic on them, done for many at once: it
keeps nothing in memory, and the same position is the same example in every process.
"""

from __future__ import annotations

import abc
import dataclasses
import functools
from collections.abc import Sequence

import numpy as np

# Above this many examples an epoch's order is not kept as a table (of 64 MiB).
LARGEST_TABLE = 2**24
# Of Grain's index shuffle; its own `MapDataset.shuffle` takes as many.
ROUNDS = 4
# How long a mixture's rotation may be, and how far a share may be off in it.
LONGEST_ROTATION = 10_000
SHARE_TOLERANCE = 0.01


class Order(abc.ABC):
    """The order of the examples of one or more sources."""

    @abc.abstractmethod
    def __len__(self) -> int:
        """Examples in an epoch."""

    @abc.abstractmethod
    def locate(self, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The examples at some positions.

        Args:
          positions: Not negative, `[positions]` int64.

        Returns:
          The number of the source of each, and which of its examples it is, counted
          on through later epochs (epoch `e` of a source of `n` begins at `e * n`);
          both `[positions]` int64.
        """


@dataclasses.dataclass(frozen=True)
class SourceOrder(Order):
    """One source, in its own order or shuffled anew each epoch.

    Up to `LARGEST_TABLE` examples, an epoch's order is a table, made when the epoch is
    first read; of more, each position is computed by Grain's `index_shuffle`, which
    needs no memory and some microseconds a position.

    Attributes:
      number: The source's number.
      size: How many examples it has.
      seed: Of the shuffle, below 2**32; None: the source's own order.
    """

    number: int
    size: int
    seed: int | None
    _tables: dict[int, np.ndarray] = dataclasses.field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __len__(self) -> int:
        return self.size

    def locate(self, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `Order`."""
        numbers = np.full(len(positions), self.number, np.int64)
        if self.seed is None:
            return numbers, positions
        epochs, indices = np.divmod(positions, self.size)
        shuffled = np.empty_like(indices)
        for epoch in np.unique(epochs).tolist():
            now = epochs == epoch
            shuffled[now] = self._shuffle(indices[now], epoch)
        return numbers, epochs * self.size + shuffled

    def _shuffle(self, indices: np.ndarray, epoch: int) -> np.ndarray:
        assert self.seed is not None
        if self.size <= LARGEST_TABLE:
            return self._table(self.seed, epoch)[indices]
        # Not before it is needed: Grain takes longer to load than Flax and Optax.
        from grain.experimental import index_shuffle

        seed = (self.seed + epoch) % 2**32
        return np.array(
            [index_shuffle(i, self.size - 1, seed, ROUNDS) for i in indices.tolist()]
        )

    def _table(self, seed: int, epoch: int) -> np.ndarray:
        table = self._tables.get(epoch)
        if table is None:
            # The one generator whose stream NumPy promises never to change.
            bits = np.random.MT19937(np.random.SeedSequence((seed, epoch)))
            table = np.random.RandomState(bits).permutation(self.size)
            table = table.astype(np.uint32)
            for old in [e for e in self._tables if abs(e - epoch) > 1]:
                self._tables.pop(old, None)
            self._tables[epoch] = table
        return table


@dataclasses.dataclass(frozen=True)
class MixedOrder(Order):
    """Several orders in an even rotation, each with its share.

    An epoch ends where the first of them would have to repeat itself; in the next,
    each goes on where it was.

    Attributes:
      parts: The orders.
      weights: The share of each, in any unit.
    """

    parts: Sequence[Order]
    weights: Sequence[float]

    def __len__(self) -> int:
        rotation, ranks, counts = self._rotation
        ends = []
        for number, part in enumerate(self.parts):
            turns, rank = divmod(len(part), int(counts[number]))
            (slots,) = np.nonzero((rotation == number) & (ranks == rank))
            ends.append(turns * len(rotation) + int(slots[0]))
        return min(ends)

    def locate(self, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `Order`."""
        rotation, ranks, counts = self._rotation
        turns, slots = np.divmod(positions, len(rotation))
        chosen = rotation[slots]
        inner = turns * counts[chosen] + ranks[slots]
        numbers = np.empty_like(positions)
        running = np.empty_like(positions)
        for number in np.unique(chosen):
            mine = chosen == number
            numbers[mine], running[mine] = self.parts[number].locate(inner[mine])
        return numbers, running

    @functools.cached_property
    def _rotation(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Which part each slot of a turn is for, as its how-manieth; slots a part."""
        counts = rotation_counts(self.weights)
        length = int(counts.sum())
        taken = np.zeros(len(counts), np.int64)
        rotation = np.empty(length, np.int64)
        ranks = np.empty(length, np.int64)
        for slot in range(length):
            # Whoever is furthest behind its share is next.
            number = int(np.argmax(counts * (slot + 1) - taken * length))
            rotation[slot], ranks[slot] = number, taken[number]
            taken[number] += 1
        return rotation, ranks, counts


def rotation_counts(weights: Sequence[float]) -> np.ndarray:
    """Slots of each weight in the shortest rotation with the right shares.

    Shares are exact where a rotation of `LONGEST_ROTATION` slots can hold them, else
    off by at most `SHARE_TOLERANCE` of themselves, or, for shares too small for that,
    one slot of the longest. `[weights]` int64.
    """
    shares = np.asarray(weights, np.float64) / np.sum(weights)
    lengths = np.arange(1, LONGEST_ROTATION + 1)[:, None]
    exact = shares * lengths
    counts = np.maximum(np.rint(exact), 1)
    off = np.max(np.abs(counts - exact) / exact, axis=1)
    for allowed in (1e-9, SHARE_TOLERANCE):
        (fitting,) = np.nonzero(off <= allowed)
        if len(fitting):
            return counts[fitting[0]].astype(np.int64)
    return counts[-1].astype(np.int64)
