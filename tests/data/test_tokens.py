"""The byte tokenizer, and the file that keeps a corpus' tokens."""

import os
import subprocess
import sys
import textwrap

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from fdlkit.data import ByteTokenizer, Document, TextFiles, TokenWindows
from fdlkit.data.token_file import token_cache_folder, token_stream
from fdlkit.errors import UserError


class Texts:
    def __init__(self, *texts):
        self.texts = texts
        self.reads = 0

    def documents(self):
        self.reads += 1
        return (
            Document(name=f"{number:03}", text=text)
            for number, text in enumerate(self.texts)
        )


class WideTokenizer(ByteTokenizer):
    """Bytes moved up by 1,000."""

    @property
    def name(self):
        return "wide"

    @property
    def vocab_size(self):
        return 1256

    def encode(self, text):
        return super().encode(text).astype(np.int64) + 1000


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "fdlkit" / "tokens"


text = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


@hypothesis.given(text)
def test_decoding_gives_the_encoded_text_back(text):
    tokenizer = ByteTokenizer()
    tokens = tokenizer.encode(text)
    assert tokenizer.decode(tokens) == text
    assert tokenizer.decode(tokens.tolist()) == text
    assert tokenizer.bytes_per_token[tokens].sum() == len(text.encode())
    assert tokenizer.separator not in tokens


def test_the_separator_stands_for_no_text_and_no_text_holds_it():
    tokenizer = ByteTokenizer()
    assert tokenizer.bytes_per_token.shape == (tokenizer.vocab_size,)
    assert tokenizer.bytes_per_token[tokenizer.separator] == 0
    with pytest.raises(ValueError, match="zero byte at position 2"):
        tokenizer.encode("ab\0c")


def test_half_a_character_is_decoded_as_a_replacement():
    tokenizer = ByteTokenizer()
    assert tokenizer.decode(tokenizer.encode("aé")[:-1]) == "a�"


def test_a_stream_begins_ends_and_parts_documents_with_separators():
    stream = token_stream(Texts(b"ab", b"", b"c"), ByteTokenizer())
    assert stream.tokens.tolist() == [0, 97, 98, 0, 0, 99, 0]
    assert stream.tokens.dtype == np.uint8
    assert not stream.tokens.flags.writeable


def test_a_larger_vocabulary_is_kept_in_a_wider_type():
    stream = token_stream(Texts(b"ab"), WideTokenizer())
    assert stream.tokens.tolist() == [0, 1097, 1098, 0]
    assert stream.tokens.dtype == np.uint16


def test_tokens_are_made_once_and_then_read_from_the_cache(cache):
    token_stream(Texts(b"ab"), ByteTokenizer())
    (path,) = cache.iterdir()
    written = path.stat().st_mtime_ns
    corpus = Texts(b"ab")
    token_stream(corpus, ByteTokenizer())
    assert corpus.reads == 1  # to hash it
    assert [p.stat().st_mtime_ns for p in cache.iterdir()] == [written]


def test_other_content_names_or_tokenizers_have_files_of_their_own(cache):
    fingerprints = {
        token_stream(corpus, tokenizer).fingerprint
        for corpus in (Texts(b"ab", b"c"), Texts(b"a", b"bc"), Texts(b"abc"))
        for tokenizer in (ByteTokenizer(), WideTokenizer())
    }
    assert len(fingerprints) == len(list(cache.iterdir())) == 6


def test_a_failed_write_leaves_nothing_behind(cache):
    with pytest.raises(UserError, match=r"cannot tokenize 001: a zero byte"):
        token_stream(Texts(b"ab", b"\0"), ByteTokenizer())
    assert list(cache.iterdir()) == []
    with pytest.raises(UserError, match="a corpus without documents"):
        token_stream(Texts(), ByteTokenizer())


def test_without_a_cache_folder_tokens_go_to_a_temporary_file_with_a_warning(
    cache,
):
    cache.parent.parent.mkdir()
    cache.parent.write_text("a file where the folder should be")
    with pytest.warns(UserWarning, match=r"cannot keep tokens .*XDG_CACHE_HOME"):
        stream = token_stream(Texts(b"ab"), ByteTokenizer())
    assert stream.tokens.tolist() == [0, 97, 98, 0]


def test_the_cache_is_in_the_home_folder_unless_told_otherwise(monkeypatch, tmp_path):
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert token_cache_folder() == tmp_path / ".cache/fdlkit/tokens"


def test_processes_that_start_together_all_get_whole_files(cache, tmp_path):
    for number in range(50):
        (tmp_path / f"{number}.txt").write_bytes(bytes([65 + number]) * 100_000)
    program = textwrap.dedent(
        """
        import hashlib, sys
        from fdlkit.data import ByteTokenizer, TextFiles
        from fdlkit.data.token_file import token_stream
        corpus = TextFiles(sys.argv[1], eval_fraction=0.0)
        print("ready", flush=True)
        sys.stdin.readline()
        stream = token_stream(corpus, ByteTokenizer())
        print(len(stream.tokens), hashlib.sha256(stream.tokens).hexdigest())
        """
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program, f"{tmp_path}/*.txt"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    printed = {process.communicate()[0] for process in processes}
    assert len(printed) == 1
    assert all(process.returncode == 0 for process in processes)
    (path,) = cache.iterdir()
    assert printed.pop().startswith(f"{path.stat().st_size - 16} ")


def test_labels_are_the_next_tokens_and_an_epoch_has_each_label_once():
    corpus = Texts(bytes(range(1, 101)))
    windows = TokenWindows(corpus, ByteTokenizer(), length=10)
    assert len(windows) == 10
    taken = windows.take(np.arange(10), np.zeros(10, int))
    assert taken["tokens"].ravel().tolist() == list(range(100))
    assert taken["labels"].ravel().tolist() == list(range(1, 101))
    assert {array.dtype for array in taken.values()} == {np.dtype(np.int32)}


@hypothesis.given(length=st.integers(1, 40), epoch=st.integers(0, 10**6))
def test_windows_of_every_epoch_stay_inside_the_text(length, epoch):
    windows = TokenWindows(_CORPUS, ByteTokenizer(), length=length)
    indices = np.arange(len(windows))
    taken = windows.take(indices, np.full(len(indices), epoch))
    np.testing.assert_array_equal(taken["tokens"][:, 1:], taken["labels"][:, :-1])
    assert taken["labels"].shape == (len(indices), length)
    starts = taken["tokens"][:, 0]  # the text counts up
    assert (np.diff(starts) > 0).all()


_CORPUS = Texts(bytes(range(1, 120)))


def test_later_epochs_cut_the_text_elsewhere():
    windows = TokenWindows(_CORPUS, ByteTokenizer(), length=20)
    firsts = {
        windows.take(np.array([0]), np.array([epoch]))["tokens"][0, 0]
        for epoch in range(10)
    }
    assert len(firsts) > 5


def test_a_text_shorter_than_a_window_is_refused():
    with pytest.raises(UserError, match=r"4 tokens is too short .* length=4"):
        len(TokenWindows(Texts(b"ab"), ByteTokenizer(), length=4))
    with pytest.raises(UserError, match="length=0 of windows is not positive"):
        TokenWindows(Texts(b"ab"), ByteTokenizer(), length=0)


def test_the_spec_of_windows_needs_no_corpus():
    spec = TokenWindows(None, ByteTokenizer(), length=8).example_spec()
    assert {name: str(s) for name, s in spec.items()} == {
        "tokens": "int32[time=8]",
        "labels": "int32[time=8]",
    }


@pytest.mark.parametrize("size", [0, 5, 40])
def test_a_token_file_that_lost_its_end_is_made_again(size, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "a.txt").write_text("some text to be read, long enough to be cut")
    (tmp_path / "b.txt").write_text("and some more")
    corpus = TextFiles(glob=str(tmp_path / "*.txt"), split="train", eval_fraction=0.0)
    whole = np.array(token_stream(corpus, ByteTokenizer()).tokens)
    (path,) = (tmp_path / "cache").rglob("*.uint8")
    os.truncate(path, size)
    np.testing.assert_array_equal(token_stream(corpus, ByteTokenizer()).tokens, whole)
