"""The tokens of a corpus, as one array that is mapped from a file.

The stream is `separator document separator document … separator`: each document is
begun and ended by one, so a model learns both to start a text and to end it.

The file lies in the user's cache folder under a hash of the documents, their names
and the tokenizer's name, and is made when it is not there. It is written aside and
then renamed, so that processes that start together may all write it: the last
rename wins, and every one of them is whole.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import pathlib
import tempfile
import warnings
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from fdlkit.data.corpus import Corpus
from fdlkit.data.tokenizer import Tokenizer
from fdlkit.errors import UserError

# Part of every file's key: another layout of the stream makes another file.
_LAYOUT = b"separator document separator/1"
# Follows the tokens in a file, before their number of bytes: a file that lost its end
# is not taken for a shorter text.
_END = b"END TOKS"
_END_SIZE = 16


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class TokenStream:
    """All tokens of a corpus, in order.

    Attributes:
      tokens: `[time]`, of the smallest unsigned type that holds the vocabulary;
        read-only, usually mapped from a file.
      fingerprint: A hash of the documents and the tokenizer's name.
    """

    tokens: np.ndarray
    fingerprint: str


def token_cache_folder() -> pathlib.Path:
    """`fdlkit/tokens` in `$XDG_CACHE_HOME`, or in `~/.cache`.

    Raises:
      OSError: This user has no home folder.
    """
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    try:
        return pathlib.Path(base).expanduser() / "fdlkit" / "tokens"
    except RuntimeError as error:
        raise OSError(str(error)) from error


def token_stream(corpus: Corpus, tokenizer: Tokenizer) -> TokenStream:
    """The tokens of `corpus`; tokenized once, then read from the cache.

    Raises:
      UserError: A document is not text, or the corpus has no documents.
    """
    fingerprint = _fingerprint(corpus, tokenizer)
    dtype = _smallest_type(tokenizer.vocab_size)
    try:
        folder = token_cache_folder()
        path = folder / f"{fingerprint}.{dtype.name}"
        if not _is_whole(path):
            folder.mkdir(parents=True, exist_ok=True)
            with _written_aside(path) as file:
                _write(file, corpus, tokenizer, dtype)
        mapped = _mapped(path, dtype)
    except OSError as error:
        warnings.warn(
            f"cannot keep tokens in the cache folder ({error}); they go to a "
            f"temporary file in {tempfile.gettempdir()} and are made again by the "
            "next process. Set XDG_CACHE_HOME to a folder that can be written.",
            stacklevel=2,
        )
        # The file has no name: its space is free again when the map is gone.
        with tempfile.TemporaryFile() as file:
            _write(file, corpus, tokenizer, dtype)
            mapped = _mapped(file, dtype)
    # A plain array over the map: indexing a `memmap` makes `memmap`s, slowly.
    return TokenStream(tokens=np.asarray(mapped), fingerprint=fingerprint)


def _fingerprint(corpus: Corpus, tokenizer: Tokenizer) -> str:
    digest = hashlib.sha256(_LAYOUT)
    for text in (tokenizer.name.encode(), *_names_and_texts(corpus)):
        digest.update(len(text).to_bytes(8, "big"))
        digest.update(text)
    return digest.hexdigest()[:32]


def _names_and_texts(corpus: Corpus) -> Iterator[bytes]:
    for document in corpus.documents():
        yield document.name.encode("utf-8", "surrogateescape")
        yield document.text


def _smallest_type(vocab_size: int) -> np.dtype:
    return np.min_scalar_type(vocab_size - 1)


def _write(
    file: BinaryIO, corpus: Corpus, tokenizer: Tokenizer, dtype: np.dtype
) -> None:
    separator = np.asarray([tokenizer.separator], dtype).tobytes()
    count = 0
    for document in corpus.documents():
        try:
            tokens = tokenizer.encode(document.text)
        except ValueError as error:
            raise UserError(f"cannot tokenize {document.name}: {error}") from error
        file.write(separator)
        file.write(tokens.astype(dtype).tobytes())
        count += 1
    if not count:
        raise UserError(f"a corpus without documents: {corpus}")
    file.write(separator)
    size = file.tell()
    file.write(_END + size.to_bytes(8, "big"))
    file.flush()


def _is_whole(path: pathlib.Path) -> bool:
    """Whether a token file is there and as long as it says at its end."""
    if not path.exists():
        return False
    size = path.stat().st_size - _END_SIZE
    if size <= 0:
        return False
    with path.open("rb") as file:
        file.seek(size)
        return file.read() == _END + size.to_bytes(8, "big")


def _mapped(file: pathlib.Path | BinaryIO, dtype: np.dtype) -> np.ndarray:
    size = (
        file.stat().st_size
        if isinstance(file, pathlib.Path)
        else os.fstat(file.fileno()).st_size
    )
    shape = ((size - _END_SIZE) // dtype.itemsize,)
    return np.memmap(file, dtype, mode="r", shape=shape)


@contextlib.contextmanager
def _written_aside(path: pathlib.Path) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` when, and only when, it is complete."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.")
    aside = pathlib.Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            os.fsync(file.fileno())
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
