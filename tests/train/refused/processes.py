"""Loaders whose processes do not read disjoint parts of the same batches."""

from __future__ import annotations

import numpy as np

from fdlkit.data.input_sharding import check_input_sharding
from tests.data.test_input_sharding import ROWS, good, loader, shuffled


def told(loaders, **named):
    """The faults that are found, as text."""
    return lambda _: [str(fault) for fault in check_input_sharding(loaders, **named)]


def parts(*sizes):
    """One shuffle, cut in parts of some sizes."""
    cut = np.split(shuffled(0)[: sum(sizes)], np.cumsum(sizes)[:-1])
    return [loader(lambda rows=rows: rows) for rows in cut]


def unseeded(_):
    draw = np.random.default_rng()
    loaders = [loader(lambda i=i: draw.permutation(ROWS)[i::2]) for i in range(2)]
    return [str(fault) for fault in check_input_sharding(loaders)]


REFUSED = {
    "every process with a shuffle of its own": told(
        [loader(lambda i=i: shuffled(i)[:16]) for i in range(2)]
    ),
    "a process with fewer batches": told(parts(12, 16)),
    "a shuffle without a seed": unseeded,
    "batches of unlike shapes": told(
        [good(0, of=2), loader(lambda: shuffled(0)[1::2], batch_size=8)]
    ),
    "no loader": told([]),
    "other processes": told([good(0), good(1)], num_processes=3),
    "a row that nothing names": told([good(0), good(1)], row_id="id"),
}
