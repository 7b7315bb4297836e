"""Reading global batches, or some rows of each, in a fixed order."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from fdlkit.data.order import Order
from fdlkit.data.source import Source, stack
from fdlkit.data.transforms import Transform, transform_example
from fdlkit.errors import UserError


class BatchIterator(Iterator[dict[str, np.ndarray]]):
    """The batches of a pipeline, or one process's rows of them.

    `StopIteration` at the end of a finite set says what is exhausted. To be used by
    one thread at a time.

    Attributes:
      num_batches: How many there are, from the first; None if there is no end.
    """

    def __init__(
        self,
        batches: GlobalBatches,
        *,
        num_threads: int,
        num_batches: int | None,
        data: Mapping[str, Any],
    ):
        self._iterator = _grain_iterator(batches, num_threads)
        self._data = dict(data)
        self.num_batches = num_batches

    def __next__(self) -> dict[str, np.ndarray]:
        try:
            return next(self._iterator)
        except StopIteration:
            raise StopIteration(
                f"the data is exhausted: {self.num_batches} batches of "
                f"{self._data['batch_size']}"
            ) from None
        except Exception:
            # Grain has taken the batch off its queue but not counted it: what is
            # read ahead is forgotten, so that the next try reads this one again.
            self._iterator.set_state(self._iterator.get_state())
            raise

    def get_state(self, *, unused: int = 0) -> dict[str, Any]:
        """Where the iterator stands, for `json`. The same whatever the rows are.

        Args:
          unused: How many of the batches read are to be read again.
        """
        index = self._iterator.get_state()["next_index"] - unused
        return {"next_batch": index, "data": self._data}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Goes to where an iterator over the same data stood.

        Raises:
          UserError: The state is of other data, or of another order of it.
        """
        if not _is_state(state):
            raise UserError("this is not the saved state of a pipeline")
        changes = [
            f"  {name}: {state['data'].get(name)} then, {value} now"
            for name, value in self._data.items()
            if state["data"].get(name) != value
        ]
        if changes:
            raise UserError(
                "the data is not what it was when its state was saved, so training "
                "cannot go on from there",
                *changes,
                "  bring the data back, or start another run",
            )
        index = state["next_batch"]
        if self.num_batches is not None and index > self.num_batches:
            raise UserError(
                f"the saved state is {index} batches into the data, which now "
                f"ends after {self.num_batches}"
            )
        self._iterator.set_state({"next_index": index})

    def close(self) -> None:
        """Ends the threads that read ahead. Nothing can be read afterwards."""
        self._iterator.close()


def _grain_iterator(batches: GlobalBatches, num_threads: int) -> Any:
    # Not before something is read: Grain takes longer to load than Flax and Optax.
    import grain

    class Dataset(grain.MapDataset):
        """The batches as Grain takes them, without its accounting of a source."""

        def __len__(self) -> int:
            return len(batches)

        def __getitem__(self, index: Any) -> Any:
            return self.slice(index) if isinstance(index, slice) else batches[index]

    options = grain.ReadOptions(
        num_threads=num_threads, prefetch_buffer_size=2 * num_threads
    )
    return iter(Dataset().to_iter_dataset(options))


def _is_state(state: Any) -> bool:
    if not isinstance(state, Mapping):
        return False
    number, data = state.get("next_batch"), state.get("data")
    return isinstance(number, int) and number >= 0 and isinstance(data, Mapping)


class GlobalBatches:
    """Some rows of each global batch."""

    def __init__(
        self,
        order: Order,
        *,
        num_epochs: int | None,
        leaves: Sequence[Source],
        transforms: Sequence[Transform],
        batch_size: int,
        rows: range,
        seed: int,
        masked: bool,
        num_batches: int | None,
    ):
        self._order = order
        self._num_epochs = num_epochs
        self._leaves = leaves
        self._transforms = transforms
        self._batch_size = batch_size
        self._rows = rows
        self._seed = seed
        self._masked = masked
        self._num_batches = num_batches

    def __len__(self) -> int:
        if self._num_batches is None:
            return sys.maxsize // self._batch_size
        return self._num_batches

    def __getitem__(self, index: int) -> dict[str, np.ndarray]:
        first = index * self._batch_size
        positions = np.arange(first + self._rows.start, first + self._rows.stop)
        valid = len(positions)
        if self._num_epochs is not None:
            end = self._num_epochs * len(self._order)
            valid = int(np.clip(end - positions[0], 0, valid))
            # Rows of padding read the last example, for its shapes, and are cleared.
            positions = np.minimum(positions, end - 1)
        batch = self._read(*self._order.locate(positions))
        if self._transforms:
            batch = self._transform(batch, positions.tolist())
        if self._masked:
            batch.setdefault("mask", np.ones(len(positions), np.float32))
        if valid < len(positions):
            for array in batch.values():
                array[valid:] = 0
        return batch

    def _read(self, numbers: np.ndarray, running: np.ndarray) -> dict[str, np.ndarray]:
        batch: dict[str, np.ndarray] = {}
        for number in np.unique(numbers):
            leaf = self._leaves[number]
            rows = np.flatnonzero(numbers == number)
            epochs, indices = np.divmod(running[rows], len(leaf))
            taken = leaf.take(indices, epochs)
            if len(rows) == len(numbers):
                return taken
            for name, array in taken.items():
                if name not in batch:
                    shape = (len(numbers), *array.shape[1:])
                    batch[name] = np.empty(shape, array.dtype)
                batch[name][rows] = array
        return batch

    def _transform(
        self, batch: Mapping[str, np.ndarray], positions: Sequence[int]
    ) -> dict[str, np.ndarray]:
        return stack(
            [
                transform_example(
                    {name: array[row] for name, array in batch.items()},
                    self._transforms,
                    seed=self._seed,
                    position=position,
                )
                for row, position in enumerate(positions)
            ]
        )
