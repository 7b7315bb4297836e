"""From a source to batches: batch k is fixed by (seed, k) alone."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np

from fdlkit.data.source import Source
from fdlkit.data.spec import ArraySpec, batched
from fdlkit.errors import UserError


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pipeline:
    """Batches of examples in a reproducible order.

    Attributes:
      source: Examples.
      batch_size: Examples in a batch.
      shuffle: Whether each epoch has an order of its own, or the source's.
      num_epochs: Passes over the data; None for ever.
      seed: Of the order; None: whoever reads the batches says it.
      remainder: What becomes of the examples after the last full batch: `drop`
        leaves them out, `pad` fills their batch up with rows of zeros and marks
        these by zeros in the entry `mask`, which then every batch has.
    """

    source: Source
    batch_size: int
    shuffle: bool = True
    num_epochs: int | None = None
    seed: int | None = None
    remainder: Literal["drop", "pad"] = "drop"

    def spec(self) -> dict[str, ArraySpec]:
        """The specs of a batch."""
        example = self.source.example_spec()
        if self.remainder == "pad" and "mask" not in example:
            mask = ArraySpec(shape=(), dtype=np.dtype(np.float32), axes=())
            example = {**example, "mask": mask}
        return batched(example, self.batch_size)

    @property
    def num_examples(self) -> int:
        """Examples in an epoch."""
        return len(self.source)

    @property
    def num_batches(self) -> int | None:
        """Batches in all epochs together; None if there is no end."""
        if self.num_epochs is None:
            return None
        examples = self.num_epochs * self.num_examples
        full, rest = divmod(examples, self.batch_size)
        return full + 1 if rest and self.remainder == "pad" else full

    def batches(self, *, default_seed: int = 0) -> BatchIterator:
        """An iterator from the first batch on."""
        return BatchIterator(self, default_seed if self.seed is None else self.seed)

    def batch(self, index: int, seed: int) -> dict[str, np.ndarray]:
        """Batch number `index`, `[batch, …]` each."""
        positions = index * self.batch_size + np.arange(self.batch_size)
        valid = self.batch_size
        if self.num_epochs is not None:
            end = self.num_epochs * len(self.source)
            valid = int(np.clip(end - positions[0], 0, valid))
            # Rows of padding read the last example, for its shapes, and are cleared.
            positions = np.minimum(positions, end - 1)
        epochs, indices = np.divmod(positions, len(self.source))
        if self.shuffle:
            for epoch in np.unique(epochs).tolist():
                now = epochs == epoch
                indices[now] = self._order_of(seed, epoch)[indices[now]]
        batch = self.source.take(indices, epochs)
        if self.remainder == "pad":
            batch.setdefault("mask", np.ones(self.batch_size, np.float32))
        for array in batch.values():
            array[valid:] = 0
        return batch

    def _order_of(self, seed: int, epoch: int) -> np.ndarray:
        """Which example is at which position of an epoch."""
        if epoch not in self._orders:
            mixed = np.random.SeedSequence((seed, 0))
            own = int(mixed.generate_state(1)[0])
            # The one generator whose stream NumPy promises never to change.
            bits = np.random.MT19937(np.random.SeedSequence((own, epoch)))
            for old in [e for e in self._orders if abs(e - epoch) > 1]:
                del self._orders[old]
            self._orders[epoch] = np.random.RandomState(bits).permutation(
                len(self.source)
            )
        return self._orders[epoch]

    @functools.cached_property
    def _orders(self) -> dict[int, np.ndarray]:
        return {}


class BatchIterator(Iterator[dict[str, np.ndarray]]):
    """The batches of a pipeline, from any of them on."""

    def __init__(self, pipeline: Pipeline, seed: int):
        self._pipeline = pipeline
        self._seed = seed
        self._next_batch = 0
        self._data = {
            "seed": seed,
            "shuffle": pipeline.shuffle,
            "batch_size": pipeline.batch_size,
            "num_examples": [len(pipeline.source)],
            "contents": [pipeline.source.fingerprint],
        }

    def __next__(self) -> dict[str, np.ndarray]:
        if self._next_batch == self._pipeline.num_batches:
            raise StopIteration
        self._next_batch += 1
        return self._pipeline.batch(self._next_batch - 1, self._seed)

    def get_state(self) -> dict[str, Any]:
        """Where the iterator stands, for `json`."""
        return {"next_batch": self._next_batch, "data": self._data}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Goes to where an iterator over the same data stood."""
        if state["data"] != self._data:
            raise UserError(
                "the data is not what it was when its state was saved",
                f"  then: {state['data']}",
                f"  now:  {self._data}",
            )
        self._next_batch = state["next_batch"]
