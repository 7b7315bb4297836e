"""Texts are the same with a cache and without, and whoever else is in the batch."""

from __future__ import annotations

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fdlkit.errors import UserError
from fdlkit.nn.positions import LearnedPositions
from fdlkit.sharding.layout import DEFAULT_RULES
from fdlkit.train.caching import why_uncached
from fdlkit.train.continuing import Continuation, continued
from fdlkit.train.generation import (
    CachedDecoder,
    PlainDecoder,
    padded,
    rules_for,
    token_keys,
    window_start,
)
from fdlkit.train.language import POSITIONS, SEGMENT_IDS, TOKENS
from fdlkit.train.models import LinenModel
from tests.nn.models import HIDDEN, small_model
from tests.train.languages import (
    CONTEXT,
    Letters,
    generator_of,
    language_of,
    one_device,
    variables_of,
)

# One fills the context.
PROMPTS = ["abc", "abcdefghijkl", "d"]
GREEDY = {"temperature": 0.0}
WILD = {"temperature": 3.0, "top_k": 17, "top_p": 0.99}


def written(
    generator: Any, variables: Any, prompts: list[str], **named: Any
) -> list[Continuation]:
    named = {"max_tokens": 8, "num_samples": 6 // len(prompts)} | named
    *_, rows = continued(generator, variables, prompts, **named)
    return rows


def tokens_of(rows: list[Continuation]) -> list[list[int]]:
    return [row.tokens for row in rows]


@pytest.fixture(scope="module")
def model():
    return small_model()


@pytest.fixture(scope="module")
def variables(model):
    return variables_of(model)


@pytest.fixture(scope="module")
def greedy(model):
    return generator_of(language_of(model), **GREEDY)


@pytest.fixture(scope="module")
def wild(model):
    return generator_of(language_of(model), **WILD)


@pytest.mark.parametrize("named", [GREEDY, WILD], ids=["greedy", "wild"])
def test_with_a_cache_the_same_tokens_are_drawn_as_without(
    model, variables, greedy, wild, named
):
    plain = generator_of(language_of(model), cached=False, **named)
    # Four times the context: the window moves on.
    cached, uncached = (
        written(generator, variables, PROMPTS, max_tokens=4 * CONTEXT, seed=3)
        for generator in (greedy if named is GREEDY else wild, plain)
    )
    assert tokens_of(cached) == tokens_of(uncached)
    assert len(cached) == 6
    assert any(len(row.tokens) > 2 * CONTEXT for row in cached)


def test_logits_with_a_cache_are_those_without():
    model = small_model(
        attention={"rotary": None, "num_kv_heads": 2},
        positions=LearnedPositions(CONTEXT, HIDDEN),
        repeat={"remat": "full"},
        dropout=0.5,
    )
    language, variables = language_of(model), variables_of(model)
    rows = np.array([[1, 2, 3, 4, 5], [7, 8, 9, 0, 0]], np.int32)
    lengths = np.array([5, 3], np.int32)
    answers = []
    for kind in (CachedDecoder, PlainDecoder):
        decoder = kind(language, CONTEXT)
        state, logits = jax.jit(decoder.begin)(variables, rows, lengths)
        told = [logits]
        go_on = jax.jit(decoder.go_on)
        for token in (6, 11, 2):
            state, logits = go_on(variables, state, jnp.full(2, token))
            told.append(logits)
        answers.append(np.asarray(told))
    np.testing.assert_allclose(*answers, rtol=2e-4, atol=2e-5)


def test_a_sample_is_the_same_whatever_else_is_asked_for(variables, wild):
    many = written(wild, variables, PROMPTS, seed=5)
    alone = written(wild, variables, PROMPTS[2:], num_samples=1, seed=5)
    longer = written(wild, variables, PROMPTS, seed=5, max_tokens=11)
    assert tokens_of(alone) == tokens_of(many[4:5])
    assert [row.tokens[:8] for row in longer] == tokens_of(many)
    assert [row.prompt for row in many] == [p for p in PROMPTS for _ in range(2)]


def test_a_seed_gives_one_text_and_another_seed_another(variables, wild):
    one, again, other = (
        tokens_of(written(wild, variables, ["abc"], seed=seed)) for seed in (1, 1, 2)
    )
    assert one == again
    assert one != other
    assert one[0] != one[1]


def test_a_text_ends_at_the_end_of_text_and_the_others_go_on(variables, wild):
    rows = written(wild, variables, ["abc"], max_tokens=15)
    ended = [row for row in rows if row.finish == "end"]
    whole = [row for row in rows if row.finish == "length"]
    assert ended and whole
    assert all(len(row.tokens) == 15 for row in whole)
    assert all(0 not in row.tokens for row in rows)
    assert all(row.text == Letters().decode(row.tokens) for row in rows)


def test_text_that_grows_never_takes_back_what_it_said(model):
    class Pairs(Letters):
        """Two tokens a character."""

        def decode(self, tokens):
            pairs = [int(token) for token in tokens]
            text = "".join(chr(pairs[i] + 96) for i in range(1, len(pairs), 2))
            return text + "\N{REPLACEMENT CHARACTER}" * (len(pairs) % 2)

    language = language_of(model, tokenizer=Pairs())
    row = Continuation(language, "b", np.array([1, 2]))
    said = []
    for token in (1, 3, 1):
        row.add(token)
        said.append(row.text)
    assert said == ["", "c", "c"]
    row.add(0)
    assert (row.finish, row.text) == ("end", "c\N{REPLACEMENT CHARACTER}")


def test_prompts_of_other_lengths_compile_nothing_new(model, variables):
    generator = generator_of(language_of(model, context=64))
    written(generator, variables, ["abc"], max_tokens=5, num_samples=1)
    begin, go_on = generator._begin, generator._go_on
    assert begin._cache_size() == go_on._cache_size() == 1
    for prompt in ("a", "abcdefgh", "rqp"):
        written(generator, variables, [prompt], max_tokens=7, num_samples=1)
    assert begin._cache_size() == go_on._cache_size() == 1


@pytest.mark.parametrize(
    ("prompt", "why"),
    [
        ("", "the prompt is empty"),
        ("abcdefghijklm", "the prompt has 13 tokens, and the model .* rows of 12"),
        ("xyz", "the prompt is no text"),
        ("\udcff", "the prompt is no text"),
    ],
)
def test_a_prompt_that_cannot_be_continued_is_refused(greedy, variables, prompt, why):
    with pytest.raises(UserError, match=why):
        written(greedy, variables, ["abc", prompt])


def test_windows_move_on_by_half_a_context():
    starts = [window_start(length, 8) for length in range(1, 22)]
    assert starts == [0] * 8 + [4] * 4 + [8] * 4 + [12] * 4 + [16]
    assert all(0 < n - window_start(n, 1) <= 1 for n in range(1, 9))
    assert all(0 < n - window_start(n, 7) <= 7 for n in range(1, 99))


def test_lengths_are_padded_to_few():
    lengths = {padded(n, most=100) for n in range(1, 101)}
    assert lengths == {16, 32, 64, 100}
    assert all(padded(n, most=100) >= n for n in range(1, 101))


def test_each_token_of_each_sample_has_a_key_of_its_own():
    keys = [token_keys(3, np.arange(5), number) for number in range(4)]
    data = np.concatenate([jax.random.key_data(key) for key in keys])
    assert len(np.unique(data, axis=0)) == 20
    few = jax.random.key_data(token_keys(3, np.arange(2), 1))
    np.testing.assert_array_equal(few, data[5:7])


class Averaging(nn.Module):
    """A layer in which a token also meets the one before it."""

    @nn.compact
    def __call__(self, x: jax.Array, **inputs: Any) -> jax.Array:
        return x + jnp.pad(x, ((0, 0), (1, 0), (0, 0)))[:, :-1]


class Doubling(nn.Module):
    """A layer of another class, in which tokens do not meet."""

    @nn.compact
    def __call__(self, x: jax.Array, **inputs: Any) -> jax.Array:
        return 2 * x


class Whole:
    """A pair of functions that are no Linen module."""

    def __init__(self, module: nn.Module):
        self._model = LinenModel(module)

    def init(self, rng: jax.Array, inputs: Any) -> Any:
        return self._model.init(rng, inputs)

    def apply(self, variables: Any, inputs: Any, rngs: Any) -> Any:
        return self._model.apply(variables, inputs, rngs)


@pytest.mark.parametrize(
    ("model", "names", "why"),
    [
        (small_model(), {}, None),
        (small_model().clone(layers=Doubling()), {}, None),
        (
            small_model().clone(layers=Averaging()),
            {},
            "tokens meet in Averaging as well, which keeps nothing",
        ),
        (Whole(small_model()), {}, "the model is no Flax Linen module"),
        (small_model(), {TOKENS: "tokens"}, "the model takes no `positions`"),
    ],
    ids=["known", "unknown, alike", "unknown, other", "no module", "no positions"],
)
def test_a_cache_is_used_where_it_says_the_same(model, names, why):
    language = language_of(model, **names)
    module = model if isinstance(model, nn.Module) else small_model()
    variables, mesh = variables_of(module), one_device()
    found = why_uncached(language, variables, mesh=mesh, rules=DEFAULT_RULES)
    assert found == why


def test_a_model_that_is_no_module_writes_the_same_without_a_cache(
    model, variables, greedy
):
    whole = generator_of(
        language_of(Whole(model), **{TOKENS: "tokens"}), cached=False, **GREEDY
    )
    assert tokens_of(written(whole, variables, PROMPTS)) == tokens_of(
        written(greedy, variables, PROMPTS)
    )


def test_a_model_that_is_told_of_segments_is_told_that_a_row_is_one(
    model, variables, greedy
):
    names = {
        TOKENS: "tokens",
        SEGMENT_IDS: "segment_ids",
        POSITIONS: "positions",
    }
    told = generator_of(language_of(model, **names), **GREEDY)
    assert tokens_of(written(told, variables, PROMPTS)) == tokens_of(
        written(greedy, variables, PROMPTS)
    )


def test_rows_are_cut_over_the_mesh_where_they_can_be():
    mesh = jax.sharding.AbstractMesh(
        (2, 2, 1, 2, 1), ("data", "fsdp", "tensor", "context", "stage")
    )
    even, odd = (dict(rules_for(n, DEFAULT_RULES, mesh)) for n in (8, 6))
    assert even["batch"] == ("data", "fsdp")
    assert odd["batch"] is None
    assert even["time"] is odd["time"] is None
    assert even["kv_heads"] == "tensor"
