"""What a pipeline gives, for people: specs, counts and rows they can read."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from fdlkit.data.pipeline import Pipeline
from fdlkit.data.spec import ArraySpec
from fdlkit.data.tokenizer import Tokenizer
from fdlkit.errors import UserError

_SEPARATOR = "␀"  # how the token between documents is shown


@dataclasses.dataclass(frozen=True, kw_only=True)
class DataDescription:
    """A pipeline at a glance.

    Attributes:
      specs: Of a global batch, by entry.
      num_examples: Examples in an epoch.
      num_batches: Global batches in all epochs together; None if there is no end.
      tokenizer: The tokenizer's name; None if the examples are not text.
      rows: The first examples that were asked for, as text: decoded tokens, or each
        entry's values.
    """

    specs: Mapping[str, ArraySpec]
    num_examples: int
    num_batches: int | None
    tokenizer: str | None
    rows: tuple[str, ...]


def describe(
    pipeline: Pipeline, n: int, *, rows: slice | None = None
) -> DataDescription:
    """Reads the first `n` examples of `pipeline` and says what it gives.

    Args:
      pipeline: What to look at.
      n: How many examples to show; fewer if a finite set ends before.
      rows: Of every global batch, the rows to look at (see `process_rows`); None is
        all.

    Returns:
      The description.
    """
    tokenizer = pipeline.tokenizer()
    shown: list[str] = []
    batches = pipeline.batches(rows=rows, num_threads=0)
    while len(shown) < n:
        batch = next(batches, None)
        if batch is None:
            break
        size = len(next(iter(batch.values())))
        for row in range(min(size, n - len(shown))):
            example = {name: array[row] for name, array in batch.items()}
            shown.append(example_text(example, tokenizer))
    batches.close()
    return DataDescription(
        specs=pipeline.spec(),
        num_examples=pipeline.num_examples,
        num_batches=pipeline.num_batches,
        tokenizer=tokenizer.name if tokenizer else None,
        rows=tuple(shown),
    )


def check_same_tokenizer(train: Pipeline, evaluation: Pipeline) -> None:
    """Refuses data to evaluate on that is tokenized unlike the training data.

    Raises:
      UserError: The tokenizers differ; both are named.
    """
    names = [
        f"{tokenizer.name} (vocab_size={tokenizer.vocab_size})" if tokenizer else "none"
        for tokenizer in (train.tokenizer(), evaluation.tokenizer())
    ]
    if names[0] != names[1]:
        raise UserError(
            "training and evaluation data have different tokenizers",
            f"  training:   {names[0]}",
            f"  evaluation: {names[1]}",
            "  share one tokenizer between both sources",
        )


def example_text(example: Mapping[str, np.ndarray], tokenizer: Tokenizer | None) -> str:
    """An example as a person reads it: decoded tokens, or each entry's values."""
    if tokenizer is None or "tokens" not in example:
        return ", ".join(
            f"{name}={np.array2string(array, threshold=8, edgeitems=3)}"
            for name, array in example.items()
        )
    tokens = example["tokens"]
    if "segment_ids" in example:
        tokens = tokens[example["segment_ids"] > 0]
    texts = np.split(tokens, np.flatnonzero(tokens == tokenizer.separator))
    return _SEPARATOR.join(
        tokenizer.decode(text[text != tokenizer.separator]) for text in texts
    )
