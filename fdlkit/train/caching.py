"""Whether a language model may be run with a cache of its keys and values."""

from __future__ import annotations

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec

from fdlkit.nn.attention import SelfAttention
from fdlkit.nn.block import Block
from fdlkit.nn.cache import CACHE, NoCacheError, filling
from fdlkit.nn.einsum import Einsum
from fdlkit.nn.embed import Embed
from fdlkit.nn.mlp import Mlp
from fdlkit.nn.norm import LayerNorm, RmsNorm
from fdlkit.nn.positions import LearnedPositions
from fdlkit.nn.repeat import Repeat
from fdlkit.nn.transformer import Transformer
from fdlkit.sharding.layout import AxisRules
from fdlkit.train.generation import (
    SHORTEST,
    CachedDecoder,
    PlainDecoder,
    rules_for,
)
from fdlkit.train.language import LanguageModel
from fdlkit.train.models import LinenModel
from fdlkit.train.setup import using

# Modules in which a token meets others in `SelfAttention` alone. Of any other class,
# whose subclasses are others too, numbers decide.
KNOWN = frozenset(
    {
        *(SelfAttention, Block, Einsum, Embed, Mlp, LayerNorm, RmsNorm),
        *(LearnedPositions, Repeat, Transformer),
        *(nn.Dense, nn.DenseGeneral, nn.Dropout, nn.Embed, nn.LayerNorm, nn.RMSNorm),
    }
)

# How far logits with a cache may be from those without, in standard deviations of
# them. What is forgotten shows in full; matrix products in bfloat16 stay below.
TOLERANCE = 0.03


def why_uncached(
    language: LanguageModel, variables: Any, *, mesh: Any, rules: AxisRules
) -> str | None:
    """Why keys and values cannot be kept, in half a sentence; None: they can.

    A model of unknown parts is run on a few tokens both ways.

    Args:
      language: The model.
      variables: Its variables, on the mesh.
      mesh: The devices.
      rules: What mesh axes a logical axis is cut over.
    """
    if not isinstance(language.model, LinenModel):
        return "the model is no Flax Linen module"
    if not language.takes_positions:
        return "the model takes no `positions`"
    tokens = min(SHORTEST, language.context)
    rows = np.arange(tokens, dtype=np.int32)[None] % language.tokenizer.vocab_size
    with using(mesh, rules_for(1, rules, mesh)):
        try:
            called = modules_called(language, variables, rows)
        except NoCacheError as error:
            return str(error)
        unknown = sorted(kind.__name__ for kind in called - KNOWN)
        if not unknown or (tokens > 1 and agree(language, variables, rows)):
            return None
    return f"tokens meet in {' or '.join(unknown)} as well, which keeps nothing"


def modules_called(
    language: LanguageModel, variables: Any, rows: np.ndarray
) -> set[type[nn.Module]]:
    """The classes of the modules that a model calls, found by tracing.

    Raises:
      NoCacheError: An attention has no place of its own to keep anything.
    """

    def apply(variables: Any, rows: jax.Array) -> Any:
        assert isinstance(language.model, LinenModel)
        inputs = language.inputs(rows, jnp.zeros_like(rows))
        return language.model.module.apply(variables, mutable=[CACHE], **inputs)

    with filling(rows.shape[1]) as called:
        jax.eval_shape(apply, variables, rows)
    return called


def agree(language: LanguageModel, variables: Any, rows: np.ndarray) -> bool:
    """Whether the last token's logits are the same with a cache and without."""
    length = rows.shape[1]
    before, last = rows[:, :-1], rows[:, -1]

    @jax.jit
    def both(variables: Any, before: jax.Array, last: jax.Array) -> Any:
        lengths = jnp.full(before.shape[0], before.shape[1])
        answers = []
        for decoder in (
            CachedDecoder(language, length),
            PlainDecoder(language, length),
        ):
            state, _ = decoder.begin(variables, before, lengths)
            answers.append(decoder.go_on(variables, state, last)[1])
        # Every process reads all of them.
        return jax.lax.with_sharding_constraint(answers, PartitionSpec())

    cached, plain = map(np.asarray, both(variables, before, last))
    return bool(np.abs(cached - plain).max() <= TOLERANCE * plain.std())
