"""The byte-pair tokenizer loses nothing, is the same every time, and is kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdlkit.data.byte_pairs import BytePairTokenizer
from fdlkit.data.corpus import TextFiles
from fdlkit.data.windows import TokenWindows
from fdlkit.errors import UserError

TEXT = "def naïve(self):\n    return self.value + self.value  # twice\n" * 40


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """Two files, the folder that they are in, and a cache of their own."""
    folder = tmp_path_factory.mktemp("texts")
    (folder / "a.txt").write_text(TEXT)
    (folder / "b.txt").write_text(TEXT.upper())
    return folder


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder / "fdlkit" / "tokenizers"


def make(folder, **fields) -> BytePairTokenizer:
    corpus = TextFiles(str(folder / "*.txt"), eval_fraction=0.0)
    return BytePairTokenizer(corpus, **({"vocab_size": 320} | fields))


@pytest.fixture(scope="module")
def tokenizer(texts):
    return make(texts)


def test_text_comes_back_and_takes_fewer_tokens_than_bytes(tokenizer):
    tokens = tokenizer.encode(TEXT)
    assert tokenizer.decode(tokens) == TEXT
    assert len(tokens) < len(TEXT.encode()) / 2
    assert tokens.min() > tokenizer.separator == 0
    assert tokens.max() < tokenizer.vocab_size


@given(raw=st.binary(max_size=60))
def test_any_bytes_are_covered_exactly(tokenizer, raw):
    tokens = tokenizer.encode(raw)
    assert tokenizer.bytes_per_token[tokens].sum() == len(raw)
    assert tokenizer.decode(tokens) == raw.decode(errors="replace")


def test_it_is_trained_once_and_the_same_every_time(texts, tokenizer, cache):
    (kept,) = [path for path in cache.iterdir() if path.stem == tokenizer._key]
    before = kept.read_bytes()
    again = make(texts)
    assert (again.name, list(again.encode(TEXT))) == (
        tokenizer.name,
        list(tokenizer.encode(TEXT)),
    )
    kept.unlink()
    assert make(texts).name == tokenizer.name
    assert kept.read_bytes() == before


def test_another_text_or_size_makes_another_name(texts, tmp_path, tokenizer):
    (tmp_path / "a.txt").write_text("quite another text " * 50)
    (tmp_path / "b.txt").write_text("and one more of them " * 50)
    names = {tokenizer.name, make(tmp_path).name, make(texts, vocab_size=300).name}
    assert len(names) == 3


def test_a_damaged_file_is_trained_again(texts, tokenizer, cache):
    (kept,) = [path for path in cache.iterdir() if path.stem == tokenizer._key]
    kept.write_text("{")
    assert make(texts).name == tokenizer.name


def test_windows_over_it_have_labels_of_as_many_bytes_as_the_text(texts, tokenizer):
    windows = TokenWindows(tokenizer.corpus, tokenizer, length=8)
    rows = windows.take(np.arange(len(windows)), np.zeros(len(windows), np.int64))
    tokens = windows.stream.tokens[1 : len(windows) * 8 + 1]
    counted = tokenizer.bytes_per_token[rows["labels"]].sum()
    assert counted == tokenizer.bytes_per_token[tokens].sum() > 0


def test_a_corpus_with_few_pairs_leaves_ids_without_text(tmp_path):
    (tmp_path / "a.txt").write_text("ab")
    small = BytePairTokenizer(
        TextFiles(str(tmp_path / "*.txt"), eval_fraction=0.0), vocab_size=1000
    )
    assert len(small.bytes_per_token) == 1000
    assert small.decode([999]) == ""


def test_a_vocabulary_that_does_not_hold_the_bytes_is_refused(texts):
    with pytest.raises(UserError, match="257"):
        make(texts, vocab_size=256)


def test_a_missing_package_is_named(texts, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda *_: None)
    with pytest.raises(UserError, match=r"pip install 'fdlkit\[tokenizers\]'"):
        make(texts, vocab_size=301).encode("a")
