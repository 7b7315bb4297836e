"""From sources to batches: batch k is fixed by (seed, k) alone.

*Positions* are shuffled and mixed, not examples, so the order costs nothing but
arithmetic and is the same in every process; `GlobalBatches` then reads, for batch k,
the rows that this process wants, all at once.

    order of a source ─ shuffle ─┐
    order of a source ─ shuffle ─┴ mix ─ rows of batch k ─ read ─ transform
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np

from fdlkit import suggest
from fdlkit.data.batches import BatchIterator, GlobalBatches
from fdlkit.data.mixture import Mixture
from fdlkit.data.order import MixedOrder, Order, SourceOrder
from fdlkit.data.source import RandomAccess, Source, as_source
from fdlkit.data.spec import ArraySpec, array_spec, batched
from fdlkit.data.tokenizer import Tokenizer
from fdlkit.data.transforms import Transform, check_transforms, transform_example
from fdlkit.errors import UserError

Remainder = Literal["drop", "pad"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pipeline:
    """Batches of examples in a reproducible order.

    Global batch k is a function of (seed, k): processes that each read some of its
    rows read together what one process would, and a saved state is one number.

    Usage:

        pipeline = Pipeline(source=InMemory({"x": x}), batch_size=32)
        batches = pipeline.batches()
        batch = next(batches)  # {"x": [batch, …]}

    Attributes:
      source: Examples: a `Source`, any object with a length and `[]`, a function
        without arguments that returns a mapping of arrays, or a `Mixture`.
      transforms: Applied to each example in order: functions of an example, Grain's
        `Map` or `RandomMap`.
      batch_size: Examples in a global batch, over all processes.
      shuffle: Whether each epoch has an order of its own, or the source's.
      num_epochs: Passes over the data; None for ever.
      seed: Of the order and of random transforms, not negative; None: whoever reads
        the batches says it. A trainer derives it from its own seed and from what the
        data is to it, see `derived_seed`; it is 0 where nothing is said.
      remainder: What becomes of the examples after the last full batch: `drop`
        leaves them out, `pad` fills their batch up with rows of zeros and marks
        these by zeros in the entry `mask`. If examples have no `mask`, `pad` adds
        one, `[batch]` float32, to every batch.
      num_threads: Threads that read ahead. 0, for whoever reads ahead themselves or
        from memory, reads when a batch is asked for.
    """

    source: Source | RandomAccess | Callable[[], Mapping[str, np.ndarray]] | Mixture
    transforms: Sequence[Transform] = ()
    batch_size: int
    shuffle: bool = True
    num_epochs: int | None = None
    seed: int | None = None
    remainder: Remainder = "drop"
    num_threads: int = 0

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise UserError(f"batch_size={self.batch_size} is not positive")
        if self.num_epochs is not None and self.num_epochs < 1:
            raise UserError(
                f"num_epochs={self.num_epochs} is not positive; None is for ever"
            )
        if self.seed is not None and self.seed < 0:
            raise UserError(f"seed={self.seed} of a pipeline is negative")
        if self.remainder not in get_args(Remainder):
            meant = suggest.hint(str(self.remainder), get_args(Remainder))
            raise UserError(
                f"no remainder {self.remainder!r}",
                *([f"  {meant}"] if meant else []),
                "  possible: drop, pad",
            )
        check_transforms(self.transforms)

    def spec(self) -> dict[str, ArraySpec]:
        """The specs of a global batch, without reading one where that is possible.

        Raises:
          UserError: The sources of a mixture do not have the same specs.
        """
        example = self._leaves[0].example_spec()
        for leaf in self._leaves[1:]:
            _check_same_specs(example, leaf.example_spec())
        if self.transforms:
            example = self._transformed_spec(example)
        if self.remainder == "pad" and "mask" not in example:
            mask = ArraySpec(shape=(), dtype=np.dtype(np.float32), axes=())
            example = {**example, "mask": mask}
        return batched(example, self.batch_size)

    @property
    def num_examples(self) -> int:
        """Examples in an epoch."""
        return len(self._order(0))

    @property
    def num_batches(self) -> int | None:
        """Batches in all epochs together; None if there is no end.

        Raises:
          UserError: There is not one.
        """
        if self.num_epochs is None:
            return None
        examples = self.num_epochs * self.num_examples
        full, rest = divmod(examples, self.batch_size)
        if rest and self.remainder == "pad":
            return full + 1
        if not full:
            raise UserError(
                f"{examples} examples make no batch of batch_size={self.batch_size}",
                "  take a smaller batch_size, or remainder='pad'",
            )
        return full

    def tokenizer(self) -> Tokenizer | None:
        """What made the examples' tokens; None if they are not text.

        Raises:
          UserError: The sources of a mixture disagree.
        """
        tokenizers = [leaf.text_tokenizer() for leaf in self._leaves]
        names = dict.fromkeys(t.name if t else "none" for t in tokenizers)
        if len(names) > 1:
            raise UserError(
                "the sources of a mixture have different tokenizers: "
                + ", ".join(names)
            )
        return tokenizers[0]

    def batches(
        self,
        *,
        rows: slice | None = None,
        num_threads: int | None = None,
        default_seed: int = 0,
    ) -> BatchIterator:
        """An iterator from the first batch on. Sources are opened now.

        Args:
          rows: The rows of every global batch to read, in its order; None is all.
            See `process_rows`.
          num_threads: Instead of the pipeline's.
          default_seed: The seed, if the pipeline has none of its own.

        Returns:
          An iterator over batches `[rows, …]`.

        Raises:
          UserError: The data is missing, empty or does not make a batch.
        """
        start, stop, step = (rows or slice(None)).indices(self.batch_size)
        if step != 1 or start >= stop:
            raise ValueError(f"{rows} takes no run of {self.batch_size} rows")
        spec = self.spec()
        num_batches = self.num_batches
        seed = default_seed if self.seed is None else self.seed
        batches = GlobalBatches(
            self._order(seed),
            num_epochs=self.num_epochs,
            leaves=self._leaves,
            transforms=self.transforms,
            batch_size=self.batch_size,
            rows=range(start, stop),
            seed=seed,
            masked="mask" in spec and self.remainder == "pad",
            num_batches=num_batches,
        )
        return BatchIterator(
            batches,
            num_threads=self.num_threads if num_threads is None else num_threads,
            num_batches=num_batches,
            data={
                "seed": seed,
                "shuffle": self.shuffle,
                "batch_size": self.batch_size,
                "num_examples": [len(leaf) for leaf in self._leaves],
                "contents": [leaf.fingerprint for leaf in self._leaves],
            },
        )

    @functools.cached_property
    def _leaves(self) -> list[Source]:
        return [as_source(source) for source in _flattened(self.source)]

    def _order(self, seed: int) -> Order:
        """Which example is at which position, through all epochs."""
        orders = []
        for number, leaf in enumerate(self._leaves):
            if not len(leaf):
                raise UserError(f"a source without examples: {leaf}")
            own = None
            if self.shuffle:
                # An epoch's number is added to the seed: seeds 0 and 1 themselves
                # would give one order, an epoch apart.
                mixed = np.random.SeedSequence((seed, number))
                own = int(mixed.generate_state(1)[0])
            orders.append(SourceOrder(number, len(leaf), own))
        return _mixed(self.source, iter(orders))

    def _transformed_spec(
        self, example: Mapping[str, ArraySpec]
    ) -> dict[str, ArraySpec]:
        first = self._leaves[0].take(np.zeros(1, np.int64), np.zeros(1, np.int64))
        transformed = transform_example(
            {name: array[0] for name, array in first.items()},
            self.transforms,
            seed=self.seed or 0,
            position=0,
        )
        return {
            name: array_spec(
                np.asarray(array), example[name].axes if name in example else ()
            )
            for name, array in transformed.items()
        }


def derived_seed(seed: int, name: str) -> int:
    """The seed of one part of something that has a seed.

    Args:
      seed: Of the whole.
      name: What the part is to it: `train_data`.

    Returns:
      A number below 2**32, another one for every seed and name.
    """
    mixed = np.random.SeedSequence((seed % 2**32, *name.encode()))
    return int(mixed.generate_state(1)[0])


def process_rows(batch_size: int, *, process_index: int, num_processes: int) -> slice:
    """The rows of every global batch that one of several processes reads.

    Raises:
      UserError: The batch is not a multiple of the number of processes.
    """
    if batch_size % num_processes:
        raise UserError(
            f"batch_size={batch_size} is not a multiple of {num_processes} processes"
        )
    size = batch_size // num_processes
    return slice(process_index * size, (process_index + 1) * size)


def _flattened(source: Any) -> Iterator[Any]:
    """The sources in mixtures of mixtures, from the left."""
    if isinstance(source, Mixture):
        for part in source.sources:
            yield from _flattened(part)
    else:
        yield source


def _mixed(source: Any, orders: Iterator[Order]) -> Order:
    """`orders`, of the flattened sources, mixed as `source` is."""
    if not isinstance(source, Mixture):
        return next(orders)
    parts = [_mixed(part, orders) for part in source.sources]
    return MixedOrder(parts, source.weights)


def _check_same_specs(
    first: Mapping[str, ArraySpec], other: Mapping[str, ArraySpec]
) -> None:
    shapes = [
        {name: (spec.shape, spec.dtype) for name, spec in example.items()}
        for example in (first, other)
    ]
    if shapes[0] != shapes[1]:
        raise UserError(
            "the sources of a mixture have examples of different specs",
            "  " + ", ".join(f"{name}: {spec}" for name, spec in first.items()),
            "  " + ", ".join(f"{name}: {spec}" for name, spec in other.items()),
        )
