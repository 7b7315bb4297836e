"""Ends, remainders and padding of finite sets; what is refused."""

import numpy as np
import pytest

from fdlkit.data import InMemory, Mixture, Pipeline, process_rows
from fdlkit.errors import UserError


def pipeline(size=10, **kwargs):
    arrays = {"x": np.arange(1, size + 1), "y": np.ones((size, 3), np.float32)}
    kwargs = {"batch_size": 4, "num_epochs": 1, "shuffle": False, **kwargs}
    return Pipeline(source=InMemory(arrays), **kwargs)


def test_the_last_examples_are_dropped_when_they_make_no_batch():
    batches = list(pipeline().batches())
    assert [batch["x"].tolist() for batch in batches] == [[1, 2, 3, 4], [5, 6, 7, 8]]
    assert batches[0].keys() == {"x", "y"}


def test_the_last_batch_is_padded_with_masked_zeros():
    batches = list(pipeline(remainder="pad").batches())
    assert [batch["x"].tolist() for batch in batches] == [
        [1, 2, 3, 4],
        [5, 6, 7, 8],
        [9, 10, 0, 0],
    ]
    assert [batch["mask"].tolist() for batch in batches] == [
        [1, 1, 1, 1],
        [1, 1, 1, 1],
        [1, 1, 0, 0],
    ]
    assert not batches[-1]["y"][2:].any()


def test_a_process_whose_rows_are_all_padding_still_gets_a_batch():
    padded = pipeline(remainder="pad")
    *_, last = padded.batches(rows=slice(2, 4))
    assert last["x"].tolist() == [0, 0]
    assert last["mask"].tolist() == [0, 0]


def test_a_mask_that_examples_have_is_cleared_on_padding_and_kept_elsewhere():
    mask = np.array([[1, 0], [1, 1], [0, 1]], np.float32)
    source = InMemory({"mask": mask})
    padded = Pipeline(
        source=source, batch_size=2, num_epochs=1, shuffle=False, remainder="pad"
    )
    first, last = padded.batches()
    assert first["mask"].tolist() == mask[:2].tolist()
    assert last["mask"].tolist() == [[0, 1], [0, 0]]
    np.testing.assert_array_equal(source.arrays["mask"], mask)


@pytest.mark.parametrize("remainder", ["drop", "pad"])
@pytest.mark.parametrize("size", [4, 5, 8, 11])
@pytest.mark.parametrize("num_epochs", [1, 3])
def test_shapes_never_change_and_are_what_the_spec_says(remainder, size, num_epochs):
    data = pipeline(size, remainder=remainder, num_epochs=num_epochs)
    spec = {name: (s.shape, s.dtype) for name, s in data.spec().items()}
    batches = list(data.batches())
    assert len(batches) == data.num_batches
    for batch in batches:
        assert {name: (a.shape, a.dtype) for name, a in batch.items()} == spec


def test_batches_run_across_the_end_of_an_epoch():
    data = pipeline(5, num_epochs=2, remainder="pad")
    assert [batch["x"].tolist() for batch in data.batches()] == [
        [1, 2, 3, 4],
        [5, 1, 2, 3],
        [4, 5, 0, 0],
    ]


@pytest.mark.parametrize("num_threads", [0, 2])
def test_an_exhausted_set_says_so_every_time_it_is_asked(num_threads):
    batches = pipeline().batches(num_threads=num_threads)
    next(batches), next(batches)
    state = batches.get_state()
    for _ in range(2):
        with pytest.raises(StopIteration, match="exhausted: 2 batches of 4"):
            next(batches)
    assert batches.get_state() == state
    batches.set_state(state)
    with pytest.raises(StopIteration):
        next(batches)
    batches.close()


@pytest.mark.parametrize("num_threads", [0, 2])
def test_a_read_that_fails_can_be_tried_again_without_skipping(num_threads):
    failures = [OSError("the disk is gone")]

    def flaky(example):
        if example["x"] == 6 and failures:
            raise failures.pop()
        return example

    data = pipeline(12, transforms=[flaky])
    batches = data.batches(num_threads=num_threads)
    first = next(batches)
    with pytest.raises(OSError, match="the disk is gone"):
        next(batches)
    drawn = [batch["x"].tolist() for batch in (first, *batches)]
    assert drawn == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]
    batches.close()


def test_a_set_without_end_has_no_number_of_batches():
    batches = pipeline(num_epochs=None).batches()
    assert batches.num_batches is None
    assert len([next(batches) for _ in range(50)]) == 50


def test_fewer_examples_than_a_batch_are_refused_or_padded():
    with pytest.raises(UserError, match=r"3 examples make no batch of batch_size=4"):
        pipeline(3).batches()
    (batch,) = pipeline(3, remainder="pad").batches()
    assert batch["mask"].tolist() == [1, 1, 1, 0]


def test_a_state_of_other_data_is_refused_and_says_what_differs():
    state = pipeline(num_epochs=None).batches().get_state()
    with pytest.raises(UserError) as error:
        pipeline(11, num_epochs=None, seed=7).batches().set_state(state)
    assert "  seed: 0 then, 7 now" in error.value.lines
    assert "  num_examples: [10] then, [11] now" in error.value.lines


def test_a_state_past_the_end_is_refused():
    batches = pipeline(num_epochs=None).batches()
    for _ in range(5):
        next(batches)
    with pytest.raises(UserError, match="5 batches into the data, which now ends"):
        pipeline().batches().set_state(batches.get_state())


def test_a_transform_changes_each_example_and_the_spec():
    def double(example):
        return {"z": example["x"] * 2.0, "y": example["y"][:2]}

    data = pipeline(transforms=[double])
    spec = data.spec()
    assert (spec["z"].shape, spec["z"].dtype) == ((4,), np.float64)
    assert (spec["y"].shape, spec["y"].axes) == ((4, 2), ("batch", None))
    first = next(data.batches())
    assert first["z"].tolist() == [2, 4, 6, 8]
    assert first["y"].shape == (4, 2)


def test_rows_of_processes_are_contiguous_and_cover_the_batch():
    rows = [
        process_rows(12, process_index=index, num_processes=3) for index in range(3)
    ]
    assert rows == [slice(0, 4), slice(4, 8), slice(8, 12)]
    with pytest.raises(UserError, match="batch_size=12 is not a multiple of 5"):
        process_rows(12, process_index=0, num_processes=5)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"batch_size": 0}, "batch_size=0 is not positive"),
        ({"num_epochs": 0}, "num_epochs=0 is not positive; None is for ever"),
        ({"seed": -1}, "seed=-1 of a pipeline is negative"),
        ({"remainder": "keep"}, "no remainder 'keep'"),
        ({"transforms": [3]}, r"transforms\[0\] is a int, not a function"),
    ],
)
def test_a_wrong_value_is_refused_by_name(kwargs, message):
    with pytest.raises(UserError, match=message):
        pipeline(**kwargs)


def test_what_gives_no_examples_is_refused():
    with pytest.raises(UserError, match="a float is not a source of examples"):
        Pipeline(source=1.5, batch_size=1).batches()
    with pytest.raises(UserError, match="a source without examples"):
        Pipeline(source=InMemory({"x": np.zeros(0)}), batch_size=1).batches()
    with pytest.raises(UserError, match="same number of rows"):
        InMemory({"x": np.zeros(2), "y": np.zeros(3)})


def test_a_mixture_of_different_examples_is_refused():
    one, other = InMemory({"x": np.zeros(3)}), InMemory({"x": np.zeros((3, 2))})
    with pytest.raises(UserError, match="different specs"):
        Pipeline(source=Mixture([one, other], [1, 1]), batch_size=1).batches()
    with pytest.raises(UserError, match="2 sources has 1 weights"):
        Mixture([one, other], [1])
    with pytest.raises(UserError, match="all must be positive"):
        Mixture([one, other], [1, 0])


def test_examples_of_different_shapes_are_refused():
    ragged = [{"x": np.zeros(2)}, {"x": np.zeros(3)}]
    with pytest.raises(UserError, match="shape of 'x'"):
        next(Pipeline(source=ragged, batch_size=2, shuffle=False).batches())
