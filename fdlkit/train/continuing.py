"""From prompts to texts: tokens are made, decoded as they come, and ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np

from fdlkit.errors import UserError
from fdlkit.train.generation import TokenGenerator
from fdlkit.train.language import LanguageModel

# What a decoder puts in place of a character that is not there as a whole, or not yet.
INCOMPLETE = "\N{REPLACEMENT CHARACTER}"


class Continuation:
    """What follows a prompt, while it grows and when it is done.

    Attributes:
      prompt: The prompt.
      tokens: What was made so far, the end-of-text token not among it.
      finish: Why there is no more: `end`, the model ended the text, or `length`, as
        many tokens as were wanted; None: it still grows.
    """

    def __init__(self, language: LanguageModel, prompt: str, read: np.ndarray):
        self.prompt = prompt
        self.tokens: list[int] = []
        self.finish: Literal["end", "length"] | None = None
        self._tokenizer = language.tokenizer
        self._read = read.tolist()
        self._skipped = len(self._tokenizer.decode(read))

    def __repr__(self) -> str:
        return f"Continuation({self.prompt!r}, {self.text!r}, finish={self.finish!r})"

    def add(self, token: int) -> None:
        """Takes the next token; one that ends the text ends it."""
        if token == self._tokenizer.separator:
            self.finish = "end"
        else:
            self.tokens.append(token)

    @property
    def text(self) -> str:
        """What follows the prompt.

        While it grows, a character of which only some bytes are there is left out: so
        what comes later only goes behind it.
        """
        whole = self._tokenizer.decode(np.array([*self._read, *self.tokens], np.int64))
        text = whole[self._skipped :]
        return text if self.finish else text.rstrip(INCOMPLETE)


def continued(
    generator: TokenGenerator,
    variables: Any,
    prompts: Sequence[str],
    *,
    max_tokens: int,
    num_samples: int = 1,
    seed: int = 0,
) -> Iterator[list[Continuation]]:
    """Continues each prompt `num_samples` times, all of them in one batch.

    Sample k of a prompt is the same whatever else is asked for, but for the rounding
    of other batches.

    Args:
      generator: Makes tokens.
      variables: The model's.
      prompts: Texts of at least one token, and at most a context of them.
      max_tokens: How many are made of each sample at most.
      num_samples: How many of each prompt.
      seed: Of what is drawn.

    Yields:
      The same list after each token: all samples of the first prompt, of the second …

    Raises:
      UserError: A prompt is empty, too long or no text.
    """
    language = generator.language
    read = [prompt_tokens(language, prompt) for prompt in prompts]
    each = [index for index in range(len(prompts)) for _ in range(num_samples)]
    rows = [Continuation(language, prompts[index], read[index]) for index in each]
    stream = generator.tokens(
        variables,
        [read[index] for index in each],
        max_tokens=max_tokens,
        seed=seed,
        samples=list(range(num_samples)) * len(prompts),
    )
    for tokens in stream:
        for row, token in zip(rows, tokens.tolist(), strict=True):
            if row.finish is None:
                row.add(token)
            if row.finish is None and len(row.tokens) == max_tokens:
                row.finish = "length"
        yield rows
        if all(row.finish for row in rows):
            return


def prompt_tokens(language: LanguageModel, prompt: str) -> np.ndarray:
    """The tokens of a prompt, `[time]` int32.

    Raises:
      UserError: It is empty, longer than the model's context, or no text.
    """
    try:
        prompt.encode()
        tokens = np.asarray(language.tokenizer.encode(prompt), np.int32)
    except ValueError as error:  # of which broken Unicode is a kind
        raise UserError("the prompt is no text", f"{error}") from error
    if not len(tokens):
        raise UserError(
            "the prompt is empty", "give the model at least one token to go on from"
        )
    if len(tokens) > language.context:
        raise UserError(
            f"the prompt has {len(tokens):,} tokens, and the model has learnt from "
            f"rows of {language.context:,}",
            f"give it {language.context:,} at most: the last ones are what counts",
        )
    return tokens
