"""A language of eighteen letters for tests, and small models of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import flax.linen as nn
import jax
import numpy as np

from fdlkit.sharding.layout import DEFAULT_RULES
from fdlkit.sharding.mesh import Mesh, MeshAxes
from fdlkit.train.generation import TokenGenerator
from fdlkit.train.language import POSITIONS, TOKENS, LanguageModel
from fdlkit.train.models import as_model
from fdlkit.train.sampling import Sampler
from tests.nn.models import VOCAB, parameters, some_tokens

CONTEXT = 12


@dataclasses.dataclass(frozen=True)
class Letters:
    """`a` to `r`; 0 separates."""

    name: str = "letters"
    vocab_size: int = VOCAB
    separator: int = 0

    @property
    def bytes_per_token(self) -> np.ndarray:
        return np.array([0] + [1] * (VOCAB - 1), np.int32)

    def encode(self, text: str | bytes) -> np.ndarray:
        ids = np.array([ord(letter) - 96 for letter in str(text)], np.int32)
        if ((ids < 1) | (ids >= VOCAB)).any():
            raise ValueError(f"{text!r} has other letters than a to r")
        return ids

    def decode(self, tokens: Iterable[int] | np.ndarray) -> str:
        return "".join(chr(int(token) + 96) for token in tokens)


def language_of(
    model: Any, *, context: int = CONTEXT, tokenizer: Any = None, **names: str
) -> LanguageModel:
    """A model as a language model; it takes `tokens` and `positions` unless told."""
    return LanguageModel(
        model=as_model(model),
        tokenizer=tokenizer or Letters(),
        context=context,
        names=names or {TOKENS: "tokens", POSITIONS: "positions"},
    )


def variables_of(model: nn.Module, *, seed: int = 0) -> dict[str, Any]:
    """Parameters of a model that is sure of what it says."""
    params = parameters(model, some_tokens())
    draw = np.random.default_rng(seed).normal
    return {
        "params": jax.tree.map(
            lambda leaf: (leaf + draw(0, 0.5, leaf.shape)).astype(leaf.dtype), params
        )
    }


def generator_of(
    language: LanguageModel,
    *,
    cached: bool = True,
    mesh: Any = None,
    rules: Any = DEFAULT_RULES,
    **sampler: Any,
) -> TokenGenerator:
    """A generator on one device, or on a mesh."""
    return TokenGenerator(
        language=language,
        sampler=Sampler(**sampler),
        mesh=one_device() if mesh is None else mesh,
        rules=rules,
        cached=cached,
    )


def one_device() -> Any:
    return Mesh(ici=MeshAxes()).make(jax.devices()[:1])
