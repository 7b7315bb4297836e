"""What `describe` says of a pipeline, and tokenizers that disagree."""

import numpy as np
import pytest

from fdlkit.data import (
    ByteTokenizer,
    Document,
    InMemory,
    Mixture,
    PackedDocuments,
    Pipeline,
    TokenWindows,
    check_same_tokenizer,
    describe,
)
from fdlkit.errors import UserError


class Texts:
    def documents(self):
        return (Document(name=str(n), text=b"text %d." % n) for n in range(4))


class UpperCase(ByteTokenizer):
    @property
    def name(self):
        return "upper"


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_windows_are_shown_as_text_with_visible_separators():
    source = TokenWindows(Texts(), ByteTokenizer(), length=16)
    pipeline = Pipeline(source=source, batch_size=2, shuffle=False)
    seen = describe(pipeline, 1)
    assert seen.rows == ("␀text 0.␀text 1.",)
    assert (seen.tokenizer, seen.num_examples, seen.num_batches) == ("bytes", 2, None)
    assert str(seen.specs["labels"]) == "int32[batch=2, time=16]"


def test_packed_rows_are_shown_without_their_padding():
    source = PackedDocuments(Texts(), ByteTokenizer(), length=18)
    pipeline = Pipeline(source=source, batch_size=1, shuffle=False, num_epochs=1)
    seen = describe(pipeline, 5)
    assert seen.rows == ("␀text 0.␀text 1.", "␀text 2.␀text 3.")
    assert seen.num_batches == 2


def test_arrays_are_shown_as_values_and_only_the_rows_of_one_process():
    source = InMemory({"x": np.arange(6), "y": np.zeros((6, 2))})
    pipeline = Pipeline(source=source, batch_size=4, shuffle=False)
    seen = describe(pipeline, 3, rows=slice(2, 4))
    assert seen.rows == ("x=2, y=[0. 0.]", "x=3, y=[0. 0.]", "x=0, y=[0. 0.]")
    assert seen.tokenizer is None
    assert str(seen.specs["y"]) == "float64[batch=4, 2]"


def test_train_and_eval_must_agree_on_the_tokenizer():
    def pipeline(tokenizer):
        source = TokenWindows(Texts(), tokenizer, length=4)
        return Pipeline(source=source, batch_size=1)

    check_same_tokenizer(pipeline(ByteTokenizer()), pipeline(ByteTokenizer()))
    with pytest.raises(UserError) as error:
        check_same_tokenizer(pipeline(ByteTokenizer()), pipeline(UpperCase()))
    assert "bytes (vocab_size=256)" in error.value.lines[1]
    assert "upper (vocab_size=256)" in error.value.lines[2]
    plain = Pipeline(source=InMemory({"x": np.zeros(2)}), batch_size=1)
    check_same_tokenizer(plain, plain)
    with pytest.raises(UserError, match="none"):
        check_same_tokenizer(pipeline(ByteTokenizer()), plain)


def test_the_sources_of_a_mixture_must_agree_too():
    sources = [
        TokenWindows(Texts(), tokenizer, length=4)
        for tokenizer in (ByteTokenizer(), UpperCase())
    ]
    pipeline = Pipeline(source=Mixture(sources, [1, 1]), batch_size=1)
    with pytest.raises(UserError, match="different tokenizers: bytes, upper"):
        pipeline.tokenizer()
