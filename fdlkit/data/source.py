"""Where examples come from: random access, many at a time."""

from __future__ import annotations

import abc
import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from fdlkit.data.spec import ArraySpec, array_spec
from fdlkit.data.tokenizer import Tokenizer
from fdlkit.errors import UserError


class Source(abc.ABC):
    """A finite set of examples of one shape, each reached by its index.

    Subclasses say how many there are and how to take some. Objects that only have a
    length and `[]`, and functions that return arrays, need no subclass: `as_source`
    adapts them.
    """

    @abc.abstractmethod
    def __len__(self) -> int:
        """The number of examples in an epoch."""

    @abc.abstractmethod
    def take(self, indices: np.ndarray, epochs: np.ndarray) -> dict[str, np.ndarray]:
        """The examples at `indices`, stacked.

        Args:
          indices: `[batch]` integers in `[0, len(self))`.
          epochs: `[batch]` integers from 0: the pass in which each example is read.
            A source may vary an example from pass to pass; it must do so as a
            function of (index, epoch) alone.

        Returns:
          Arrays `[batch, …]`, of the same names, shapes and types every time.
        """

    def example_spec(self) -> dict[str, ArraySpec]:
        """The specs of one example. Reads an example where they are not known."""
        first = self.take(np.zeros(1, np.int64), np.zeros(1, np.int64))
        return {name: array_spec(array[0]) for name, array in first.items()}

    def text_tokenizer(self) -> Tokenizer | None:
        """What made the examples' tokens; None if they are not text."""
        return None

    @property
    def fingerprint(self) -> str:
        """Names the content, as far as it is known; `""` otherwise."""
        return ""


@dataclasses.dataclass(frozen=True, eq=False)
class InMemory(Source):
    """Examples that are the rows of arrays.

    Usage:

        InMemory({"image": images, "label": labels})

    Attributes:
      arrays: `[examples, …]` each, by name; as many rows in each.
    """

    arrays: Mapping[str, np.ndarray]

    def __post_init__(self) -> None:
        sizes = {name: np.shape(array)[:1] for name, array in self.arrays.items()}
        if len(set(sizes.values())) != 1 or () in sizes.values():
            shapes = {name: np.shape(array) for name, array in self.arrays.items()}
            raise UserError(
                "arrays of an in-memory source need the same number of rows",
                f"  shapes: {shapes}",
            )

    @functools.cached_property
    def _columns(self) -> dict[str, np.ndarray]:
        return {name: np.asarray(array) for name, array in self.arrays.items()}

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    def take(self, indices: np.ndarray, epochs: np.ndarray) -> dict[str, np.ndarray]:
        """The rows at `indices`, the same in every epoch."""
        del epochs
        return {name: array[indices] for name, array in self._columns.items()}

    def example_spec(self) -> dict[str, ArraySpec]:
        """The specs of a row."""
        return {
            name: ArraySpec(
                shape=array.shape[1:],
                dtype=array.dtype,
                axes=(None,) * (array.ndim - 1),
            )
            for name, array in self._columns.items()
        }


@runtime_checkable
class RandomAccess(Protocol):
    """Any object with a length whose `[index]` is a mapping of names to arrays."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Mapping[str, Any]: ...


@dataclasses.dataclass(frozen=True, eq=False)
class OneByOne(Source):
    """A source over an object with a length and `[]`.

    Attributes:
      examples: The object. `examples[i]` is a mapping of names to arrays.
    """

    examples: RandomAccess

    def __len__(self) -> int:
        return len(self.examples)

    def take(self, indices: np.ndarray, epochs: np.ndarray) -> dict[str, np.ndarray]:
        """The examples at `indices`, the same in every epoch."""
        del epochs
        return stack([self.examples[int(index)] for index in indices])


def as_source(
    source: Source | RandomAccess | Callable[[], Mapping[str, np.ndarray]],
) -> Source:
    """`source` as a `Source`; a function is called once, for its arrays.

    Raises:
      UserError: It is nothing that gives examples.
    """
    if isinstance(source, Source):
        return source
    if isinstance(source, Mapping):
        return InMemory(source)
    if isinstance(source, RandomAccess):
        return OneByOne(source)
    if callable(source):
        return InMemory(source())
    raise UserError(
        f"a {type(source).__name__} is not a source of examples",
        "  a source is a fdlkit.data.Source, any object with a length and [], or a "
        "function without arguments that returns a mapping of arrays",
    )


def stack(examples: Sequence[Mapping[str, Any]]) -> dict[str, np.ndarray]:
    """Examples as one mapping of arrays with a leading `batch` axis.

    Raises:
      UserError: They differ in names or shapes.
    """
    names = examples[0].keys()
    for example in examples:
        if example.keys() != names:
            raise UserError(
                "examples of one source differ in their entries",
                f"  {sorted(names)}",
                f"  {sorted(example)}",
            )
    batch = {}
    for name in names:
        arrays = [np.asarray(example[name]) for example in examples]
        shapes = sorted({array.shape for array in arrays})
        if len(shapes) > 1:
            raise UserError(
                f"examples of one source differ in the shape of {name!r}: "
                + ", ".join(map(str, shapes))
            )
        batch[name] = np.stack(arrays)
    return batch
