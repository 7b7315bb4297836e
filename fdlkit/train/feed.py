"""From a pipeline's NumPy batches to arrays on the devices of a mesh."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding

Shape = tuple[int, ...]


def rows_of_process(batch_size: int, sharding: NamedSharding) -> slice:
    """Which rows of every global batch this process has to read.

    They follow from where its devices sit in the mesh, so processes that differ
    only in a tensor axis read the same rows.

    Args:
      batch_size: Rows of the global batch.
      sharding: How a batch is laid out; only its first dim is split.
    """
    index = sharding.addressable_devices_indices_map((batch_size,))
    spans = [rows[0].indices(batch_size) for rows in index.values() if rows]
    return slice(min(s[0] for s in spans), max(s[1] for s in spans))


class Feed:
    """Puts each process's rows on its devices, as one global batch.

    Attributes:
      sharding: The layout of every array of a batch.
      rows: The rows of the global batch that this process reads.
    """

    def __init__(self, batch_size: int, sharding: NamedSharding):
        self.sharding = sharding
        self.rows = rows_of_process(batch_size, sharding)
        self._batch_size = batch_size
        self._alone = sharding.mesh.size == 1
        self._one_process = jax.process_count() == 1

    def place(self, batch: Mapping[str, np.ndarray]) -> Mapping[str, Any]:
        """The batch as the compiled step takes it.

        Args:
          batch: This process's rows, `[rows, ...]` each.
        """
        if self._alone:
            # The compiled call moves NumPy arrays itself, in half the time.
            return batch
        if self._one_process:
            return jax.device_put(batch, self.sharding)
        return {name: self._from_rows(array) for name, array in batch.items()}

    def _from_rows(self, local: np.ndarray) -> jax.Array:
        def piece(index: tuple[slice, ...] | None) -> np.ndarray:
            assert index is not None
            start, stop, _ = index[0].indices(self._batch_size)
            return local[start - self.rows.start : stop - self.rows.start]

        shape: Shape = (self._batch_size, *local.shape[1:])
        return jax.make_array_from_callback(shape, self.sharding, piece)
