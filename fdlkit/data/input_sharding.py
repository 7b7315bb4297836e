"""Whether the processes of a run read disjoint parts of the same batches."""

from __future__ import annotations

import collections
import dataclasses
import hashlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from fdlkit import suggest
from fdlkit.data.pipeline import Pipeline, process_rows
from fdlkit.errors import UserError

Loader = Callable[[], Iterable[Mapping[str, Any]]]
FaultKind = Literal["overlap", "unequal length", "unlike batches", "unseeded shuffle"]


@dataclasses.dataclass(frozen=True)
class InputFault:
    """One thing that is wrong with how processes read their data.

    Attributes:
      kind: What it is.
      processes: Of which processes, by their numbers.
      text: What was seen, with the first place.
      fix: What to do.
    """

    kind: FaultKind
    processes: tuple[int, ...]
    text: str
    fix: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}; {self.fix}"


def check_input_sharding(
    loaders: Pipeline | Sequence[Loader],
    *,
    num_processes: int | None = None,
    num_batches: int = 100,
    row_id: str | None = None,
) -> list[InputFault]:
    """Reads what each process would, twice, and says what is wrong.

    In a test of one's own data, on one machine and without starting a process:

        assert not check_input_sharding(pipeline, num_processes=4)
        assert not check_input_sharding([lambda i=i: my_loader(i, 4) for i in range(4)])

    Args:
      loaders: For each process a function that makes its loader anew: batches of
        arrays by name, `[rows, ...]`, where rows that a `mask` says are padding do not
        count. Or a pipeline, which is read as `num_processes` would.
      num_processes: Of a pipeline; 2 if it is not said.
      num_batches: How many batches are read at most. They should be of one epoch: in
        the next, every process may read what another had. Of a pipeline no more are.
      row_id: The entry of a batch that tells its rows apart; None: all entries do,
        and rows that are equal are taken for one row read twice.

    Returns:
      What is wrong; nothing, if the processes agree. Where a loader does not read the
      same twice, that is told and not what follows from it.

    Raises:
      UserError: There is no loader, a batch has no `row_id`, or the pipeline's batch
        cannot be cut for so many processes.
    """
    if isinstance(loaders, Pipeline):
        num_batches, loaders = _of_pipeline(loaders, num_processes or 2, num_batches)
    elif num_processes not in (None, len(loaders)):
        raise UserError(
            f"{len(loaders)} loaders for num_processes={num_processes}",
            "give one for each process; num_processes is for a pipeline",
        )
    if not loaders:
        raise UserError("there is no loader", "give one for each process")
    readings = [_rows_read(loader, num_batches, row_id) for loader in loaders]
    again = [_rows_read(loader, num_batches, row_id) for loader in loaders]
    unseeded = list(_unlike_itself(readings, again))
    return [
        *unseeded,
        *_lengths(readings),
        *_shapes(readings),
        *([] if unseeded else _overlaps(readings)),
    ]


@dataclasses.dataclass(frozen=True)
class _Batch:
    """One process's share of a batch: its specs, and what names each row."""

    specs: Mapping[str, tuple[tuple[int, ...], str]]
    rows: tuple[bytes, ...]


def _of_pipeline(
    pipeline: Pipeline, num_processes: int, num_batches: int
) -> tuple[int, list[Loader]]:
    """The batches of an epoch at most, and a loader for each process."""

    def loader(process: int) -> Loader:
        rows = process_rows(
            pipeline.batch_size, process_index=process, num_processes=num_processes
        )
        # A copy: what the pipeline has opened and kept is made anew.
        return lambda: dataclasses.replace(pipeline).batches(rows=rows)

    in_epoch = -(-pipeline.num_examples // pipeline.batch_size)
    if pipeline.num_epochs != 1:  # the last batch has rows of the next epoch too
        in_epoch = max(1, pipeline.num_examples // pipeline.batch_size)
    return min(num_batches, in_epoch), [loader(i) for i in range(num_processes)]


def _rows_read(loader: Loader, num_batches: int, row_id: str | None) -> list[_Batch]:
    batches = iter(loader())
    try:
        return [
            _noted(batch, row_id) for batch in itertools.islice(batches, num_batches)
        ]
    finally:
        close = getattr(batches, "close", None)
        if callable(close):
            close()


def _noted(batch: Mapping[str, Any], row_id: str | None) -> _Batch:
    arrays = {name: np.asarray(array) for name, array in batch.items()}
    if row_id is not None and row_id not in arrays:
        meant = suggest.hint(row_id, arrays)
        raise UserError(
            f"row_id={row_id!r} is no entry of a batch",
            *([meant] if meant else []),
            f"entries: {', '.join(arrays) or 'none'}",
        )
    specs = {name: (array.shape, str(array.dtype)) for name, array in arrays.items()}
    mask = arrays.pop("mask", None)
    named = arrays if row_id is None else {row_id: arrays[row_id]}
    size = len(next(iter(arrays.values()), ()))
    counts = [True] * size
    if mask is not None:
        counts = np.any(mask.reshape(len(mask), -1) != 0, axis=1).tolist()
    rows = tuple(_name_of(named, row) for row in range(size) if counts[row])
    return _Batch(specs, rows)


def _name_of(arrays: Mapping[str, np.ndarray], row: int) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(arrays):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(arrays[name][row]).tobytes())
    return digest.digest()


def _unlike_itself(
    readings: Sequence[Sequence[_Batch]], again: Sequence[Sequence[_Batch]]
) -> Iterator[InputFault]:
    for process, (first, second) in enumerate(zip(readings, again, strict=True)):
        pairs = itertools.zip_longest(first, second)
        for number, (one, other) in enumerate(pairs):
            if one != other:
                yield InputFault(
                    "unseeded shuffle",
                    (process,),
                    f"process {process} reads other rows in batch {number} when its "
                    "loader is made again",
                    "give the shuffle, and what is random in the data, a seed that all "
                    "processes share",
                )
                break


def _lengths(readings: Sequence[Sequence[_Batch]]) -> Iterator[InputFault]:
    lengths = [len(reading) for reading in readings]
    if len(set(lengths)) > 1:
        told = ", ".join(f"process {i}: {n}" for i, n in enumerate(lengths))
        short = tuple(i for i, n in enumerate(lengths) if n < max(lengths))
        yield InputFault(
            "unequal length",
            short,
            f"the processes have not as many batches ({told}), and the others would "
            f"wait for ever in batch {min(lengths)}",
            "drop what does not make a batch for all, or pad it and mask the padding",
        )


def _shapes(readings: Sequence[Sequence[_Batch]]) -> Iterator[InputFault]:
    for number, batches in enumerate(zip(*readings, strict=False)):
        for process, batch in enumerate(batches):
            if batch.specs != batches[0].specs:
                yield InputFault(
                    "unlike batches",
                    (0, process),
                    f"batch {number} is {_spelled_specs(batches[0])} in process 0 and "
                    f"{_spelled_specs(batch)} in process {process}",
                    "give every process as many rows of the same names and types",
                )
                return


def _spelled_specs(batch: _Batch) -> str:
    return ", ".join(f"{n} {d}{list(s)}" for n, (s, d) in batch.specs.items())


def _overlaps(readings: Sequence[Sequence[_Batch]]) -> Iterator[InputFault]:
    places: list[dict[bytes, tuple[int, int]]] = []
    for reading in readings:
        mine: dict[bytes, tuple[int, int]] = {}
        for number, batch in enumerate(reading):
            for row, name in enumerate(batch.rows):
                mine.setdefault(name, (number, row))
        places.append(mine)
    for a, b in itertools.combinations(range(len(places)), 2):
        both = [name for name in places[a] if name in places[b]]
        if both:
            (in_a, row_a), (in_b, row_b) = places[a][both[0]], places[b][both[0]]
            yield InputFault(
                "overlap",
                (a, b),
                f"processes {a} and {b} both read {len(both)} of the "
                f"{len(places[b])} rows of process {b}, the first in batch {in_a}, row "
                f"{row_a} of process {a} and in batch {in_b}, row {row_b} of process "
                f"{b}{_repeated(readings[a])}",
                "shuffle all data with one seed, then have each process take its own "
                "slice of every batch",
            )


def _repeated(reading: Sequence[_Batch]) -> str:
    """A remark for data in which equal rows are no sign of an overlap."""
    counts = collections.Counter(row for batch in reading for row in batch.rows)
    times = sum(count - 1 for count in counts.values())
    if not times:
        return ""
    return f" ({times} rows are there twice within one process: see row_id)"
