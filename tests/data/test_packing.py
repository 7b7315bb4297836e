"""Packed rows hold every token once and never mix documents."""

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from fdlkit.data import ByteTokenizer, Document, PackedDocuments
from fdlkit.data.packing import pack
from fdlkit.errors import UserError


class Texts:
    def __init__(self, *texts):
        self.texts = texts

    def documents(self):
        return (
            Document(name=f"{number:03}", text=text)
            for number, text in enumerate(self.texts)
        )


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def rows(*texts, length):
    source = PackedDocuments(Texts(*texts), ByteTokenizer(), length=length)
    everything = np.arange(len(source))
    return source, source.take(everything, np.zeros_like(everything))


documents = st.lists(
    st.binary(max_size=30).map(lambda b: b.replace(b"\0", b"")), min_size=1, max_size=20
)


@hypothesis.settings(max_examples=60, deadline=None)
@hypothesis.given(texts=documents, length=st.integers(1, 16))
def test_every_label_of_every_document_is_there_once(texts, length):
    _, batch = rows(*texts, length=length)
    predicted = []
    for row in range(len(batch["tokens"])):
        ids = batch["segment_ids"][row]
        for segment in range(1, ids.max() + 1):
            inside = ids == segment
            tokens, labels = batch["tokens"][row][inside], batch["labels"][row][inside]
            # One stretch of the row, counted from 0, in which labels are shifted.
            assert (np.diff(np.flatnonzero(inside)) == 1).all()
            np.testing.assert_array_equal(
                batch["positions"][row][inside], np.arange(inside.sum())
            )
            np.testing.assert_array_equal(tokens[1:], labels[:-1])
            predicted.append((int(tokens[0]), labels.tobytes()))
    expected = []
    for text in texts:
        stream = np.frombuffer(b"\0" + text + b"\0", np.uint8).astype(np.int32)
        for start in range(0, len(stream) - 1, length):
            labels = stream[start + 1 : start + 1 + length]
            expected.append((int(stream[start]), labels.tobytes()))
    assert sorted(predicted) == sorted(expected)


@hypothesis.settings(max_examples=60, deadline=None)
@hypothesis.given(texts=documents, length=st.integers(1, 16))
def test_padding_is_zero_everywhere_and_only_at_the_end(texts, length):
    source, batch = rows(*texts, length=length)
    for name, spec in source.example_spec().items():
        assert batch[name].shape[1:] == spec.shape
        assert batch[name].dtype == spec.dtype
    padding = batch["segment_ids"] == 0
    np.testing.assert_array_equal(batch["mask"], ~padding)
    assert (np.diff(padding.astype(int), axis=1) >= 0).all()
    for array in batch.values():
        assert not array[padding].any()


@hypothesis.given(
    lengths=st.lists(st.integers(1, 50), min_size=1, max_size=60),
    row_length=st.integers(1, 30),
)
def test_a_plan_covers_the_stream_and_leaves_one_row_half_empty_at_most(
    lengths, row_length
):
    sizes = np.array(lengths)
    plan = pack(np.cumsum(sizes) - sizes, sizes, row_length=row_length)
    covered = np.concatenate(
        [
            np.arange(start, start + length)
            for start, length in zip(plan.starts, plan.lengths, strict=True)
        ]
    )
    assert sorted(covered.tolist()) == list(range(sizes.sum()))
    used = np.add.reduceat(plan.lengths, plan.first_piece[:-1])
    assert used.max() <= row_length
    # What began the later of two rows had no room in the earlier.
    assert np.sum(used * 2 <= row_length) <= 1


def test_rows_may_be_taken_in_any_order_and_repeated():
    source, batch = rows(*(b"x" * n for n in range(1, 15)), length=12)
    indices = np.array([3, 0, 3, 2])
    taken = source.take(indices, np.zeros(4, int))
    for name, array in batch.items():
        np.testing.assert_array_equal(taken[name], array[indices])


def test_short_documents_share_rows():
    source, batch = rows(b"aaa", b"bb", b"c", length=9)
    assert len(source) == 1
    assert batch["segment_ids"].tolist() == [[1, 1, 1, 1, 2, 2, 2, 3, 3]]
    assert batch["positions"].tolist() == [[0, 1, 2, 3, 0, 1, 2, 0, 1]]
    assert ByteTokenizer().decode(batch["tokens"][0]) == "\0aaa\0bb\0c"
    assert ByteTokenizer().decode(batch["labels"][0]) == "aaa\0bb\0c\0"


def test_rows_without_length_are_refused():
    with pytest.raises(UserError, match="length=0 of rows is not positive"):
        PackedDocuments(Texts(b"a"), ByteTokenizer(), length=0)
