"""A byte-pair tokenizer that is trained on a corpus, once, and kept.

Each byte is taken for the character of its number, so every text, valid UTF-8 or not,
is a sequence of characters that no normalisation touches: nothing is lost, and the
length of a token is the number of bytes that it stands for.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import importlib.util
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from fdlkit import user_cache, whole_file
from fdlkit.data.corpus import Corpus
from fdlkit.errors import MissingPackageError, UserError

# What no pair is merged across: words with the blank before them, numbers, runs of
# signs, runs of blanks. Bytes above 127, parts of other characters, are letters.
WORDS = (
    " ?[A-Za-z_\u0080-\u00ff]+| ?[0-9]+"
    "| ?[^ \t\r\n\v\fA-Za-z0-9_\u0080-\u00ff]+|[ \t\r\n\v\f]+"
)
# Part of the key of every kept tokenizer: another way to train makes another.
_RECIPE = f"byte pairs/1 {WORDS}"


@dataclasses.dataclass(frozen=True)
class BytePairTokenizer:
    """Byte-pair encoding (Sennrich et al., 2016) of bytes, trained on a corpus.

    It is trained when it is first needed, by the `tokenizers` package, and kept in
    the user's cache folder under a hash of the corpus' texts and `vocab_size`. The
    same corpus gives the same tokenizer.

    Attributes:
      corpus: The texts that it is trained on: the split to train on, so that the text
        that is held out has no say in it.
      vocab_size: How many ids there are: the separator, 256 bytes, and merged pairs.
    """

    corpus: Corpus
    _: dataclasses.KW_ONLY
    vocab_size: int = 4096

    def __post_init__(self) -> None:
        if self.vocab_size < 257:
            raise UserError(
                f"vocab_size={self.vocab_size} of a byte-pair tokenizer is too small",
                "  257 is the separator and the 256 bytes, without a pair",
            )

    @functools.cached_property
    def _trained(self) -> Any:
        """The `tokenizers.Tokenizer`, whose ids are one less than ours."""
        package = _package()
        name = f"{self._key}.json"
        folder = user_cache.writable("tokenizers")
        if folder is not None:
            with contextlib.suppress(OSError):
                kept = (folder / name).read_text()
                # A file that a full disk cut short is trained again.
                with contextlib.suppress(Exception):
                    return package.Tokenizer.from_str(kept)
        trained = self._train()
        try:
            if folder is None:
                raise OSError("the cache folder cannot be written")
            whole_file.replace(folder / name, trained.to_str().encode())
        except OSError as error:
            warnings.warn(
                f"the tokenizer is not kept ({error}); the next process trains it "
                "again. Set XDG_CACHE_HOME to a folder that can be written.",
                stacklevel=2,
            )
        return trained

    @functools.cached_property
    def _key(self) -> str:
        """Names the texts and how they are trained on."""
        digest = hashlib.sha256(_RECIPE.encode())
        digest.update(self.vocab_size.to_bytes(8, "big"))
        for document in self.corpus.documents():
            digest.update(len(document.text).to_bytes(8, "big"))
            digest.update(document.text)
        return digest.hexdigest()[:32]

    def _train(self) -> Any:
        package = _package()
        made = package.Tokenizer(package.models.BPE())
        made.pre_tokenizer = package.pre_tokenizers.Split(
            package.Regex(WORDS), behavior="isolated"
        )
        trainer = package.trainers.BpeTrainer(
            vocab_size=self.vocab_size - 1,
            initial_alphabet=[chr(byte) for byte in range(256)],
            special_tokens=[],
            show_progress=False,
        )
        texts: Iterator[str] = (
            document.text.decode("latin-1") for document in self.corpus.documents()
        )
        made.train_from_iterator(texts, trainer)
        return made

    @functools.cached_property
    def name(self) -> str:
        """`byte-pairs-4096-` and a hash of the tokens."""
        digest = hashlib.sha256("\n".join(self._tokens).encode())
        return f"byte-pairs-{self.vocab_size}-{digest.hexdigest()[:16]}"

    @functools.cached_property
    def _tokens(self) -> list[str]:
        """The bytes of each id of the trained tokenizer, as characters.

        A pair is merged in the order of the ids, so they say all that was learned.
        """
        vocabulary = self._trained.get_vocab()
        return sorted(vocabulary, key=vocabulary.__getitem__)

    @property
    def separator(self) -> int:
        """0."""
        return 0

    @functools.cached_property
    def bytes_per_token(self) -> np.ndarray:
        """The bytes of each id, `[vocab]` int32; 0 for the separator.

        Also 0 for ids that a small corpus left without a pair.
        """
        counts = np.zeros(self.vocab_size, np.int32)
        counts[1 : len(self._tokens) + 1] = [len(token) for token in self._tokens]
        return counts

    def encode(self, text: str | bytes) -> np.ndarray:
        """The ids of one text. `[time]` int32"""
        raw = text.encode() if isinstance(text, str) else text
        ids = self._trained.encode(raw.decode("latin-1")).ids
        return np.asarray(ids, np.int32) + 1

    def decode(self, tokens: Iterable[int] | np.ndarray) -> str:
        """The text of `tokens`; separators become zero characters.

        What is left of a character of several bytes that a window has cut becomes
        U+FFFD.
        """
        ids = np.asarray(tokens if isinstance(tokens, np.ndarray) else list(tokens))
        known = ["\0", *self._tokens]
        texts = [known[i] if i < len(known) else "" for i in ids.tolist()]
        return "".join(texts).encode("latin-1").decode(errors="replace")


def _package() -> Any:
    """The `tokenizers` package.

    Raises:
      MissingPackageError: It is not installed.
    """
    if importlib.util.find_spec("tokenizers") is None:
        raise MissingPackageError("BytePairTokenizer", "tokenizers", "tokenizers")
    # Not before it is needed: the package is an extra.
    import tokenizers

    return tokenizers
