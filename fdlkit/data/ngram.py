"""N-gram models of bytes: what a language model has to beat to have learnt anything.

A model of order n predicts a token from the n - 1 before it. It is an interpolation
with absolute discounting (Ney, Essen and Kneser, 1994), down to the uniform
distribution: with c the training counts, h a context and h' its shorter tail,

    p(w | h) = max(c(h w) - d, 0) / c(h) + d * kinds(h) / c(h) * p(w | h')

where kinds(h) is how many different tokens follow h, d = 3/4, and p(w | h) =
p(w | h') for a context never seen. What is taken from the counts is what is given to
the shorter context, so each p(. | h) sums to one over the vocabulary.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from fdlkit.data.tokenizer import ByteTokenizer

_DISCOUNT = 0.75
_VOCAB = 256
_MAX_ORDER = 3  # tables are dense: 256**3 counts are 64 MB, 256**4 would be 16 GB


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class NgramModel:
    """Counts of a token after its context, for each order up to the model's own.

    Attributes:
      counts: For order n, at n - 1: `[context, vocab]`, where a context is the n - 1
        tokens before, read as one number in base 256.
    """

    counts: tuple[np.ndarray, ...]

    def probabilities(self, contexts: np.ndarray, tokens: np.ndarray) -> np.ndarray:
        """p(token | context).

        Args:
          contexts: `[batch]`, the tokens before, read as one number in base 256.
          tokens: `[batch]`.

        Returns:
          `[batch]` float64, above zero.
        """
        result = np.full(len(tokens), 1 / _VOCAB)
        for order, counts in enumerate(self.counts, 1):
            tails = contexts % _VOCAB ** (order - 1)
            totals = counts.sum(axis=1, dtype=np.int64)[tails]
            kinds = np.count_nonzero(counts, axis=1)[tails]
            seen = totals > 0
            discounted = np.maximum(counts[tails, tokens] - _DISCOUNT, 0)
            interpolated = (discounted + _DISCOUNT * kinds * result) / np.where(
                seen, totals, 1
            )
            result = np.where(seen, interpolated, result)
        return result


def fit_ngram(tokens: np.ndarray, *, order: int) -> NgramModel:
    """Counts a token stream.

    Args:
      tokens: `[time]` bytes, documents separated by 0.
      order: 1, 2 or 3 tokens in an n-gram.

    Returns:
      The model.
    """
    if not 1 <= order <= _MAX_ORDER:
        raise ValueError(f"order={order} is not between 1 and {_MAX_ORDER}")
    counts = []
    for n in range(1, order + 1):
        ngrams = _contexts(tokens, n) * _VOCAB + tokens[1:]
        table = np.bincount(ngrams, minlength=_VOCAB**n).astype(np.uint32)
        counts.append(table.reshape(-1, _VOCAB))
    return NgramModel(counts=tuple(counts))


def ngram_bits_per_byte(
    train_tokens: np.ndarray, eval_tokens: np.ndarray, *, order: int
) -> float:
    """The held-out bits per byte of an n-gram model.

    Every token after the first is predicted, as a language model does, separators
    too; as these stand for no text, they cost bits and count no bytes.

    Args:
      train_tokens: `[time]` bytes, documents separated by 0.
      eval_tokens: `[time]`, likewise.
      order: 2 for bigrams, 3 for trigrams.

    Returns:
      Bits per byte of text.
    """
    model = fit_ngram(train_tokens, order=order)
    labels = eval_tokens[1:]
    bits = -np.log2(model.probabilities(_contexts(eval_tokens, order), labels)).sum()
    return float(bits / ByteTokenizer().bytes_per_token[labels].sum())


def _contexts(tokens: np.ndarray, order: int) -> np.ndarray:
    """For each token but the first, the order - 1 before it in base 256.

    Where the stream has just begun, what is missing is taken to be separators (0).
    """
    contexts = np.zeros(len(tokens) - 1, np.int64)
    for back in range(1, order):
        contexts[back - 1 :] += tokens[: len(tokens) - back].astype(np.int64) * (
            _VOCAB ** (back - 1)
        )
    return contexts
