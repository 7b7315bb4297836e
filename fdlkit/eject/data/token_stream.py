"""The tokens of a corpus, in memory."""

from __future__ import annotations

import hashlib

import numpy as np

from fdlkit.data.corpus import Corpus
from fdlkit.data.token_file import TokenStream
from fdlkit.data.tokenizer import Tokenizer


def token_stream(corpus: Corpus, tokenizer: Tokenizer) -> TokenStream:
    """The stream `separator document separator document … separator`.

    Each document is begun and ended by one, so a model learns both to start a text
    and to end it.
    """
    digest = hashlib.sha256(b"separator document separator/1")
    dtype = np.min_scalar_type(tokenizer.vocab_size - 1)
    separator = np.asarray([tokenizer.separator], dtype)
    parts = [separator]
    named = [tokenizer.name.encode()]
    for document in corpus.documents():
        named += [document.name.encode("utf-8", "surrogateescape"), document.text]
        parts += [tokenizer.encode(document.text).astype(dtype), separator]
    for text in named:
        digest.update(len(text).to_bytes(8, "big"))
        digest.update(text)
    return TokenStream(
        tokens=np.concatenate(parts), fingerprint=digest.hexdigest()[:32]
    )
