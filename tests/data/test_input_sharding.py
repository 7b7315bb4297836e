"""Loaders whose processes do not read disjoint parts of the same batches."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import fdlkit
from fdlkit.data import InMemory, InputFault, Pipeline, check_input_sharding
from fdlkit.errors import UserError

ROWS = 48
DATA = np.arange(ROWS * 3, dtype=np.float32).reshape(ROWS, 3)


def loader(order, *, batch_size=4):
    """Batches of the rows that `order()` says."""

    def batches():
        rows = order()
        for start in range(0, len(rows) - batch_size + 1, batch_size):
            yield {"x": DATA[rows[start : start + batch_size]]}

    return batches


def shuffled(seed):
    return np.random.default_rng(seed).permutation(ROWS)


def kinds(faults):
    return [fault.kind for fault in faults]


def good(process, of=3):
    return loader(lambda: shuffled(0)[process::of])


def test_a_loader_that_slices_one_shuffle_has_no_fault():
    assert check_input_sharding([good(i) for i in range(3)]) == []


def test_a_process_that_shuffles_all_rows_by_itself_overlaps():
    def broken(process):
        return loader(lambda: shuffled(process)[:16])

    faults = check_input_sharding([broken(i) for i in range(3)])
    assert kinds(faults) == ["overlap"] * 3
    assert [fault.processes for fault in faults] == [(0, 1), (0, 2), (1, 2)]
    common = len({*shuffled(0)[:16]} & {*shuffled(1)[:16]})
    assert faults[0].text.startswith(
        f"processes 0 and 1 both read {common} of the 16 rows of process 1"
    )
    assert "one seed" in faults[0].fix


def test_a_process_with_fewer_batches_is_told_with_where_the_others_would_wait():
    def broken(process):
        rows = np.array_split(shuffled(0), [12, 28])[process]
        return loader(lambda: rows)

    faults = check_input_sharding([broken(i) for i in range(3)])
    assert kinds(faults) == ["unequal length"]
    assert faults[0].processes == (0, 1)
    assert "process 0: 3, process 1: 4, process 2: 5" in faults[0].text
    assert "wait for ever in batch 3" in faults[0].text


def test_a_shuffle_without_a_seed_is_told_and_not_what_follows_from_it():
    unseeded = np.random.default_rng()

    def broken(process):
        return loader(lambda: unseeded.permutation(ROWS)[process::2])

    faults = check_input_sharding([broken(0), broken(1)])
    assert kinds(faults) == ["unseeded shuffle"] * 2
    assert [fault.processes for fault in faults] == [(0,), (1,)]
    assert "other rows in batch 0" in faults[0].text


def test_batches_of_unlike_shapes_are_told():
    loaders = [good(0, of=2), loader(lambda: shuffled(0)[1::2], batch_size=8)]
    assert "unlike batches" in kinds(check_input_sharding(loaders))
    (fault,) = [f for f in check_input_sharding(loaders) if f.kind == "unlike batches"]
    assert fault.text == (
        "batch 0 is x float32[4, 3] in process 0 and x float32[8, 3] in process 1"
    )


@pytest.mark.parametrize("num_processes", [1, 2, 4])
@pytest.mark.parametrize("remainder", ["drop", "pad"])
def test_a_pipeline_has_no_fault(num_processes, remainder):
    pipeline = Pipeline(
        source=InMemory({"x": DATA[:42]}),
        batch_size=8,
        num_epochs=1,
        remainder=remainder,
    )
    assert not check_input_sharding(pipeline, num_processes=num_processes)
    endless = dataclasses.replace(pipeline, num_epochs=None, remainder="drop")
    assert not check_input_sharding(endless, num_processes=num_processes)


def test_a_pipeline_over_a_source_that_is_another_each_time_is_unseeded():
    unseeded = np.random.default_rng()
    pipeline = Pipeline(
        source=lambda: {"x": unseeded.normal(size=(16, 2))}, batch_size=4
    )
    assert set(kinds(check_input_sharding(pipeline))) == {"unseeded shuffle"}


def test_rows_of_padding_are_no_overlap():
    def with_padding(process):
        rows = DATA[process::2][:6]
        filled = np.concatenate([rows, np.zeros((2, 3), np.float32)])
        mask = np.array([1, 1, 1, 1, 1, 1, 0, 0], np.float32)
        return lambda: iter([{"x": filled, "mask": mask}])

    assert not check_input_sharding([with_padding(0), with_padding(1)])


def test_equal_rows_may_be_told_apart_by_an_id():
    def twins(process):
        index = np.arange(process, ROWS, 2)
        return lambda: iter([{"x": np.ones((len(index), 1)), "index": index}])

    assert not check_input_sharding([twins(0), twins(1)])  # `index` is a row's too
    constant = [
        lambda i=i: iter([{"x": np.ones((2, 1)), "id": [i, i + 2]}]) for i in (0, 1)
    ]
    assert not check_input_sharding(constant, row_id="id")
    without = [lambda: iter([{"x": np.ones((2, 1))}])] * 2
    (fault,) = check_input_sharding(without)
    assert "1 rows are there twice within one process: see row_id" in fault.text
    with pytest.raises(
        UserError, match="row_id='id' is no entry of a batch\nentries: x"
    ):
        check_input_sharding(without, row_id="id")


def test_an_endless_loader_is_read_for_some_batches_and_closed():
    closed = []

    def endless(process):
        def batches():
            try:
                number = process
                while True:
                    yield {"x": np.full((1, 1), number)}
                    number += 2
            finally:
                closed.append(process)

        return batches

    assert not check_input_sharding([endless(0), endless(1)], num_batches=5)
    assert closed == [0, 1, 0, 1]


def test_no_loader_and_a_wrong_number_of_them_are_refused():
    with pytest.raises(UserError, match="no loader"):
        check_input_sharding([])
    with pytest.raises(UserError, match="1 loaders for num_processes=2"):
        check_input_sharding([good(0)], num_processes=2)


def test_it_is_public_and_a_fault_reads_as_a_sentence():
    assert fdlkit.check_input_sharding is check_input_sharding
    fault = InputFault("overlap", (0, 1), "both read it", "slice")
    assert str(fault) == "overlap: both read it; slice"
