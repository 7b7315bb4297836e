"""Generating: a language model that is run token by token, with a cache or without.

Both ways make the same tokens. A row's text may be longer than the model's context;
what the model then sees of it is a window, which moves on by half a context whenever
it is full. Where it stands follows from the length of the row alone.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec

from fdlkit.nn.cache import CACHE, extending, filling
from fdlkit.sharding.layout import AxisRules, mesh_spec, split_of
from fdlkit.train.language import LanguageModel
from fdlkit.train.models import LinenModel
from fdlkit.train.sampling import Sampler
from fdlkit.train.setup import using

# Prompts are padded to a power of two, and to no less than this, so that there are
# few different lengths to compile for.
SHORTEST = 16


class Decoder(Protocol):
    """A language model that has read some rows and can be told the next tokens."""

    def begin(
        self, variables: Any, rows: jax.Array, lengths: jax.Array
    ) -> tuple[Any, jax.Array]:
        """Reads the beginnings of rows.

        Args:
          variables: The model's.
          rows: `[batch, time]` int32, padded at the end.
          lengths: `[batch]` int32, how many tokens of each are its text, at least 1.

        Returns:
          The state, and the logits of each row's next token, `[batch, vocab]`.
        """

    def go_on(
        self, variables: Any, state: Any, tokens: jax.Array
    ) -> tuple[Any, jax.Array]:
        """Reads one more token of each row, `[batch]` int32; returns as `begin`."""


@dataclasses.dataclass(frozen=True)
class CachedDecoder:
    """Keeps keys and values of what was read: each token is computed once.

    The state is the cache and the rows' lengths.

    Attributes:
      language: A Linen module whose positions meet in `SelfAttention` alone.
      length: How many tokens a row may come to.
    """

    language: LanguageModel
    length: int

    def begin(
        self, variables: Any, rows: jax.Array, lengths: jax.Array
    ) -> tuple[Any, jax.Array]:
        """Reads all rows in one pass."""
        places = jnp.broadcast_to(jnp.arange(rows.shape[1]), rows.shape)
        with filling(self.length):
            logits, cache = self._apply(variables, rows, places)
        return (cache, lengths), of_last(logits, lengths)

    def go_on(
        self, variables: Any, state: Any, tokens: jax.Array
    ) -> tuple[Any, jax.Array]:
        """Reads one token of each row."""
        cache, lengths = state
        with extending(lengths):
            logits, cache = self._apply(
                {**variables, CACHE: cache}, tokens[:, None], lengths[:, None]
            )
        return (cache, lengths + 1), logits[:, 0]

    def _apply(
        self, variables: Any, tokens: jax.Array, positions: jax.Array
    ) -> tuple[jax.Array, Any]:
        language = self.language
        assert isinstance(language.model, LinenModel)
        preds, changed = language.model.module.apply(
            variables, mutable=[CACHE], **language.inputs(tokens, positions)
        )
        return language.logits_of(preds), changed.get(CACHE, {})


@dataclasses.dataclass(frozen=True)
class PlainDecoder:
    """Runs the model over the whole row for each token: slower, and for any model.

    The state is the rows and their lengths.

    Attributes:
      language: A model that sees no token after the one that it is at.
      length: How many tokens a row may come to.
    """

    language: LanguageModel
    length: int

    def begin(
        self, variables: Any, rows: jax.Array, lengths: jax.Array
    ) -> tuple[Any, jax.Array]:
        """Reads all rows in one pass."""
        rows = jnp.pad(rows, ((0, 0), (0, self.length - rows.shape[1])))
        return (rows, lengths), self._last_logits(variables, rows, lengths)

    def go_on(
        self, variables: Any, state: Any, tokens: jax.Array
    ) -> tuple[Any, jax.Array]:
        """Reads all rows again, with a token more."""
        rows, lengths = state
        rows = rows.at[jnp.arange(rows.shape[0]), lengths].set(tokens)
        lengths = lengths + 1
        return (rows, lengths), self._last_logits(variables, rows, lengths)

    def _last_logits(
        self, variables: Any, rows: jax.Array, lengths: jax.Array
    ) -> jax.Array:
        places = jnp.broadcast_to(jnp.arange(rows.shape[1]), rows.shape)
        inputs = self.language.inputs(rows, places)
        preds, _ = self.language.model.apply(variables, inputs, {})
        return of_last(self.language.logits_of(preds), lengths)


def of_last(values: jax.Array, lengths: jax.Array) -> jax.Array:
    """What each row has at its last token, `[batch, time, …]` to `[batch, …]`."""
    return values[jnp.arange(values.shape[0]), lengths - 1]


@dataclasses.dataclass(frozen=True, kw_only=True)
class TokenGenerator:
    """Makes tokens, with compiled programs that are kept as long as it is.

    Attributes:
      language: The model.
      sampler: How a token is chosen.
      mesh: The devices that the variables are on.
      rules: What mesh axes a logical axis is cut over.
      cached: Whether keys and values are kept; see `fdlkit.train.caching`.
    """

    language: LanguageModel
    sampler: Sampler
    mesh: Any
    rules: AxisRules
    cached: bool

    def tokens(
        self,
        variables: Any,
        prompts: Sequence[np.ndarray],
        *,
        max_tokens: int,
        seed: int,
        samples: Sequence[int],
    ) -> Iterator[np.ndarray]:
        """Yields the next token of all rows, again and again; stop when you will.

        Args:
          variables: The model's.
          prompts: A row each, `[time]`: from one token to a context of them.
          max_tokens: How many are made of each row at most.
          seed: Of what is drawn.
          samples: A number for each row: rows of one number draw alike.

        Yields:
          `[batch]` int32.
        """
        context = self.language.context
        rows = [prompt.tolist() for prompt in prompts]
        source = np.uint32(seed % 2**32), np.array(samples, np.uint32)
        length = padded(min(max(map(len, rows)) + max_tokens, context), most=context)
        rules = rules_for(len(rows), self.rules, self.mesh)
        # Virtual CPU devices share threads: of two programs, each may wait for those
        # that the other has.
        alone = self.mesh.size > 1 and jax.default_backend() == "cpu"
        made = 0
        while made < max_tokens:
            windows = [row[window_start(len(row), context) :] for row in rows]
            longest = max(map(len, windows))
            texts = np.zeros((len(rows), padded(longest, most=context)), np.int32)
            for text, window in zip(texts, windows, strict=True):
                text[: len(window)] = window
            lengths = np.array([len(window) for window in windows], np.int32)
            # The last of these has no place in the window any more, but is made.
            count = min(context - longest + 1, max_tokens - made)
            with using(self.mesh, rules):
                state, tokens = self._begin(
                    variables, texts, lengths, source, np.int32(made), length=length
                )
            for number in range(made + 1, made + count + 1):
                current = jax.block_until_ready(tokens) if alone else tokens
                if number < made + count:
                    # The devices are at work on the next while this one is read.
                    with using(self.mesh, rules):
                        state, tokens = self._go_on(
                            variables,
                            state,
                            current,
                            source,
                            np.int32(number),
                            length=length,
                        )
                new = np.asarray(current)
                for row, token in zip(rows, new.tolist(), strict=True):
                    row.append(token)
                if alone:
                    jax.block_until_ready((state, tokens))
                yield new
            made += count

    def decoder(self, length: int) -> Decoder:
        """The model for rows that come to `length` tokens at most."""
        kind = CachedDecoder if self.cached else PlainDecoder
        return kind(self.language, length)

    @functools.cached_property
    def _begin(self) -> Any:
        def begin(
            variables: Any,
            rows: jax.Array,
            lengths: jax.Array,
            source: tuple[jax.Array, jax.Array],
            number: jax.Array,
            *,
            length: int,
        ) -> tuple[Any, jax.Array]:
            state, logits = self.decoder(length).begin(variables, rows, lengths)
            return state, self._draw(logits, source, number)

        return jax.jit(begin, static_argnames="length")

    @functools.cached_property
    def _go_on(self) -> Any:
        def go_on(
            variables: Any,
            state: Any,
            tokens: jax.Array,
            source: tuple[jax.Array, jax.Array],
            number: jax.Array,
            *,
            length: int,
        ) -> tuple[Any, jax.Array]:
            state, logits = self.decoder(length).go_on(variables, state, tokens)
            return state, self._draw(logits, source, number)

        return jax.jit(go_on, static_argnames="length", donate_argnames="state")

    def _draw(
        self, logits: jax.Array, source: tuple[jax.Array, jax.Array], number: jax.Array
    ) -> jax.Array:
        """The token of each row, by the row's sample and the token's number in it."""
        tokens = self.sampler(logits, token_keys(*source, number))
        # Every process reads all of them.
        return jax.lax.with_sharding_constraint(tokens, PartitionSpec())


def token_keys(seed: Any, samples: Any, number: Any) -> jax.Array:
    """The random key of a token of each row, `[batch]`.

    Args:
      seed: An integer, [].
      samples: `[batch]`, each row's number.
      number: The token's number in its row, [].
    """
    key = jax.random.fold_in(jax.random.key(seed), number)
    return jax.vmap(jax.random.fold_in, (None, 0))(key, samples)


def window_start(length: int, context: int) -> int:
    """Where in a row of `length` tokens the window begins that the model sees."""
    half = max(context // 2, 1)
    return max(-(-(length - context) // half) * half, 0)


def padded(length: int, *, most: int) -> int:
    """The power of two that a length is padded to, in `[SHORTEST, most]`."""
    return min(max(1 << (length - 1).bit_length(), SHORTEST), most)


def rules_for(batch: int, rules: AxisRules, mesh: Any) -> AxisRules:
    """The rules for generating: time is not cut, nor rows that cannot be cut evenly."""
    parts = split_of(mesh_spec(("batch",), rules)[0], mesh)
    whole = {"time"} if batch % parts == 0 else {"time", "batch"}
    return [(axis, None if axis in whole else entry) for axis, entry in rules]
