"""What is no language model is refused: which part says so, and what is needed."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import numpy as np
import pytest

from fdlkit.data.pipeline import Pipeline
from fdlkit.data.source import InMemory
from fdlkit.errors import UserError
from fdlkit.train.language import POSITIONS, SEGMENT_IDS, TOKENS, language_model
from fdlkit.train.losses import CrossEntropy, SquaredError
from fdlkit.train.models import as_model
from tests.nn.models import VOCAB, parameters, small_model, some_tokens
from tests.train.languages import Letters


@dataclasses.dataclass(frozen=True, eq=False)
class Texts(InMemory):
    """Rows of letters."""

    tokenizer: Any = Letters()

    def text_tokenizer(self) -> Any:
        return self.tokenizer


def data(source: Any = None, **arrays: np.ndarray) -> Pipeline:
    rows = {"tokens": np.ones((8, 12), np.int32)} | arrays
    return Pipeline(source=source or Texts(rows), batch_size=4)


def found(model: Any = None, **named: Any) -> Any:
    model = model or small_model()
    params = parameters(small_model(), some_tokens())
    return language_model(
        as_model(model),
        **{
            "loss": CrossEntropy(),
            "inputs": {"tokens": "batch.tokens"},
            "data": data(),
            "variables": {"params": params},
        }
        | named,
    )


def test_a_language_model_is_known_by_its_data_inputs_and_logits():
    language = found()
    assert language.context == 12
    assert language.tokenizer == Letters()
    # Positions are its own argument, which training leaves out.
    assert language.names == {TOKENS: "tokens", POSITIONS: "positions"}
    packed = found(inputs={"tokens": TOKENS, "segment_ids": SEGMENT_IDS})
    given = packed.inputs(np.zeros((1, 3), np.int32), np.arange(3)[None])
    assert given["segment_ids"].tolist() == [[1, 1, 1]]
    assert given["positions"].tolist() == [[0, 1, 2]]


class Nested:
    """Predictions of several parts, in more logits than there are tokens."""

    def init(self, rng: Any, inputs: Any) -> Any:
        return {"params": {}}

    def apply(self, variables: Any, inputs: Any, rngs: Any) -> Any:
        logits = jax.nn.one_hot(inputs["tokens"], VOCAB + 5)
        return {"main": [logits]}, {}


def test_logits_are_where_the_loss_finds_them_and_as_many_as_tokens():
    losses = {"l2": SquaredError(), "text": CrossEntropy(logits="preds.main[0]")}
    language = found(Nested(), loss=losses)
    assert not language.takes_positions
    preds, _ = Nested().apply({}, {"tokens": np.zeros((1, 4), np.int32)}, {})
    assert language.logits_of(preds).shape == (1, 4, VOCAB)


NUMBERS = {"tokens": np.ones((8, 12), np.float32), "x": np.ones(8, np.float32)}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no text": (
        {"data": Pipeline(source=InMemory(NUMBERS), batch_size=4)},
        "train_data: its examples are not text",
    ),
    "no tokens": (
        {"data": data(Texts({"ids": np.ones((8, 12), np.int32)}))},
        "train_data: its batches have no entry `tokens`",
    ),
    "one token": (
        {"data": data(Texts({"tokens": np.ones(8, np.int32)}))},
        r"train_data: its batches have tokens \(4,\)",
    ),
    "other input": (
        {"inputs": {"tokens": "batch.ids"}},
        "inputs: none of them is batch.tokens\nthere are: tokens=batch.ids",
    ),
    "image": (
        {"inputs": {"tokens": TOKENS, "image": "batch.image"}},
        "inputs.image='batch.image' is nothing that a prompt has",
    ),
    "classes": (
        {
            "loss": CrossEntropy(logits="preds.main[0]"),
            "model": Nested(),
            "data": data(
                Texts({"tokens": np.ones((8, 12), np.int32)}, Letters(vocab_size=99))
            ),
        },
        r"preds.main\[0\] of a row of 12 tokens is \[1, 12, 24\]\n"
        r"needed: logits \[1, 12, 99\]",
    ),
}


@pytest.mark.parametrize(("named", "why"), REFUSED.values(), ids=REFUSED)
def test_what_is_none_is_refused_with_what_is_needed(named, why):
    with pytest.raises(UserError, match=why) as caught:
        found(**named)
    assert caught.value.lines[0] == "this experiment has no language model"
    assert any(
        "needed: " in line or "can give: " in line for line in caught.value.lines
    )
