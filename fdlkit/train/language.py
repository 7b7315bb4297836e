"""What makes a model a language model: tokens in, logits of the next token out."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp

from fdlkit.data.pipeline import Pipeline
from fdlkit.data.tokenizer import Tokenizer
from fdlkit.errors import UserError
from fdlkit.keys import get_key
from fdlkit.train.losses import Loss
from fdlkit.train.models import LinenModel, Model

# What a model of text may be given, by its key path in a batch.
TOKENS = "batch.tokens"
POSITIONS = "batch.positions"
SEGMENT_IDS = "batch.segment_ids"


@dataclasses.dataclass(frozen=True, kw_only=True)
class LanguageModel:
    """How a model of text is called, whatever it is made of.

    Attributes:
      model: The model.
      tokenizer: Between text and its tokens.
      context: How many tokens a row has at most: as many as in training.
      names: The model's arguments, by what they are in a batch (`batch.tokens`).
      logits: Key path of the logits, `[batch, time, vocab]`: `preds`.
    """

    model: Model
    tokenizer: Tokenizer
    context: int
    names: Mapping[str, str]
    logits: str = "preds"

    def inputs(self, tokens: jax.Array, positions: jax.Array) -> dict[str, Any]:
        """The model's arguments for rows that are one text each.

        Args:
          tokens: `[batch, time]` int32.
          positions: Of the same shape.
        """
        given = {
            TOKENS: tokens,
            POSITIONS: positions,
            SEGMENT_IDS: jnp.ones_like(tokens),  # 0 is what padding has
        }
        return {name: given[key] for key, name in self.names.items()}

    def logits_of(self, preds: Any) -> jax.Array:
        """The logits of the tokens that there are, `[batch, time, vocab]` float32.

        A model may have more than its tokenizer, to make a round number.
        """
        logits = get_key({"preds": preds}, self.logits, wanted_by="loss.logits")
        return logits[..., : self.tokenizer.vocab_size].astype(jnp.float32)

    @property
    def takes_positions(self) -> bool:
        """Whether the model can be told where in a text a token stands."""
        return POSITIONS in self.names


def language_model(
    model: Model,
    *,
    loss: Loss | Mapping[str, Loss],
    inputs: Mapping[str, str],
    data: Pipeline,
    variables: Any,
) -> LanguageModel:
    """The model of an experiment as a language model.

    Args:
      model: The model.
      loss: The trainer's: where a loss has a field `logits`, they are found there.
      inputs: The model's arguments by name, and where in a batch they are.
      data: What it is trained on.
      variables: The shapes of the model's variables, not boxed.

    Raises:
      UserError: It is none: which part of the experiment says so, and what is needed.
    """
    tokenizer = data.tokenizer()
    if tokenizer is None:
        raise no_language_model(
            "train_data: its examples are not text",
            "needed: a source that has a tokenizer, such as fdlkit.data.windows."
            "TokenWindows, or one whose `text_tokenizer` returns it",
        )
    tokens = data.spec().get("tokens")
    if tokens is None or len(tokens.shape) != 2:
        shape = "no entry `tokens`" if tokens is None else f"tokens {tokens.shape}"
        raise no_language_model(
            f"train_data: its batches have {shape}",
            "needed: an entry `tokens` [batch, time]",
        )
    language = LanguageModel(
        model=model,
        tokenizer=tokenizer,
        context=tokens.shape[1],
        names=argument_names(model, inputs),
        logits=logits_key(loss),
    )
    refuse_other_logits(language, variables)
    return language


def argument_names(model: Model, inputs: Mapping[str, str]) -> dict[str, str]:
    """The model's arguments by what they are in a batch; `TOKENS` is among them.

    Positions are given to a Linen module that takes them, whether or not in training.

    Raises:
      UserError: The model needs what a prompt does not have.
    """
    names = {key: name for name, key in inputs.items()}
    told = ", ".join(f"{name}={key}" for name, key in inputs.items()) or "none"
    if TOKENS not in names:
        raise no_language_model(
            f"inputs: none of them is {TOKENS}",
            f"there are: {told}",
            f"needed: one that is {TOKENS}; a prompt has nothing else",
        )
    for key in set(names) - {TOKENS, POSITIONS, SEGMENT_IDS}:
        raise no_language_model(
            f"inputs.{names[key]}={key!r} is nothing that a prompt has",
            f"there are: {told}",
            f"what generating can give: {TOKENS}, {POSITIONS}, {SEGMENT_IDS}",
        )
    if isinstance(model, LinenModel) and POSITIONS not in names:
        taken = inspect.signature(model.module.__call__).parameters
        if "positions" in taken:
            names[POSITIONS] = "positions"
    return names


def logits_key(loss: Loss | Mapping[str, Loss]) -> str:
    """Where the logits are: what the first loss that has a field `logits` says."""
    losses = loss.values() if isinstance(loss, Mapping) else [loss]
    for one in losses:
        logits = getattr(one, "logits", None)
        if isinstance(logits, str):
            return logits
    return "preds"


def refuse_other_logits(language: LanguageModel, variables: Any) -> None:
    """Traces the model on a row, and refuses what are no logits of its tokens.

    Raises:
      UserError: Naming what there is instead.
    """
    row = jax.ShapeDtypeStruct((1, language.context), jnp.int32)
    preds = jax.eval_shape(
        lambda variables, row: language.model.apply(
            variables, language.inputs(row, row), {}
        )[0],
        variables,
        row,
    )
    logits = get_key({"preds": preds}, language.logits, wanted_by="loss.logits")
    vocab = language.tokenizer.vocab_size
    shape = getattr(logits, "shape", None)
    if shape is None or shape[:-1] != row.shape or shape[-1] < vocab:
        there = "no array" if shape is None else f"{list(shape)}"
        raise no_language_model(
            f"{language.logits} of a row of {language.context} tokens is {there}",
            f"needed: logits [1, {language.context}, {vocab}], one for each token of "
            f"the tokenizer {language.tokenizer.name!r}",
        )


def no_language_model(*lines: str) -> UserError:
    """That an experiment does not generate text, and what says so."""
    return UserError("this experiment has no language model", *lines)
