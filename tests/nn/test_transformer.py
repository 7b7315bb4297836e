"""What a language model must do, whatever it is made of."""

from __future__ import annotations

import math
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from fdlkit.nn.attention import SelfAttention
from fdlkit.nn.block import Block
from fdlkit.nn.embed import Embed
from fdlkit.nn.mlp import Mlp
from fdlkit.nn.norm import LayerNorm
from fdlkit.nn.positions import LearnedPositions
from fdlkit.nn.repeat import Repeat
from fdlkit.nn.transformer import Transformer
from tests.nn.models import (
    HIDDEN,
    LAYERS,
    VOCAB,
    WIDTH,
    boxes,
    by_path,
    initial,
    logits,
    parameters,
    small_model,
    some_tokens,
)

LEARNED = {
    "attention": {"rotary": None},
    "positions": LearnedPositions(32, HIDDEN),
}
VARIANTS: dict[str, dict[str, Any]] = {
    "rotary": {},
    "learned positions, LayerNorm": LEARNED | {"norm": LayerNorm},
    "grouped queries, gated": {
        "attention": {"num_kv_heads": 2},
        "mlp": {"gated": True, "activation": "silu"},
    },
}


@pytest.mark.parametrize("segments", [False, True], ids=["whole", "packed"])
@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_changing_a_token_never_changes_logits_before_it(
    variant: dict[str, Any], segments: bool
):
    model = small_model(**variant)
    tokens = some_tokens()
    named = {}
    if segments:
        named["segment_ids"] = np.repeat([[0, 1, 2], [0, 0, 1]], [3, 4, 5], axis=1)
    params = parameters(model, tokens)
    # All changed rows in one batch: one compilation.
    time = tokens.shape[1]
    changed = np.repeat(tokens[:, None], time, axis=1)
    changed[:, range(time), range(time)] = (tokens + 1) % VOCAB
    rows = np.concatenate([tokens[:, None], changed], axis=1).reshape(-1, time)
    if segments:
        named["segment_ids"] = np.repeat(named["segment_ids"], time + 1, axis=0)
    answers = logits(model, params, rows, **named).reshape(2, time + 1, time, VOCAB)
    for t in range(time):
        np.testing.assert_array_equal(answers[:, t + 1, :t], answers[:, 0, :t])
        assert (answers[:, t + 1, t] != answers[:, 0, t]).any(axis=-1).all()


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_documents_packed_in_one_row_equal_documents_in_rows_of_their_own(
    variant: dict[str, Any],
):
    model = small_model(**variant)
    first, second = some_tokens(1, 5), some_tokens(1, 7, seed=1)
    packed = np.concatenate([first, second], axis=1)
    params = parameters(model, packed)
    # What follows a document in its row cannot be seen by it. One batch, one program.
    rows = [packed, packed, np.pad(first, ((0, 0), (0, 7))), np.roll(packed, -5, 1)]
    segment_ids = np.repeat([[1, 2], [1, 1], [1, 1], [1, 1]], [5, 7], axis=1)
    together, unaware, one, two = logits(
        model, params, np.concatenate(rows), segment_ids=segment_ids
    )
    apart = np.concatenate([one[:5], two[:7]])
    np.testing.assert_allclose(together, apart, rtol=1e-4, atol=1e-5)
    assert np.abs(unaware[5:] - apart[5:]).max() > 1e-2


def test_given_positions_are_used():
    model = small_model(**LEARNED)
    tokens = some_tokens(1, 6)
    params = parameters(model, tokens)
    counted = logits(model, params, tokens)
    same = logits(model, params, tokens, positions=np.arange(6)[None])
    later = logits(model, params, tokens, positions=np.arange(6)[None] + 3)
    np.testing.assert_allclose(counted, same, rtol=1e-5, atol=1e-6)
    assert np.abs(counted - later).max() > 1e-3


@pytest.mark.parametrize(
    ("hidden", "tied"), [(64, True), (256, False)], ids=["tied", "untied"]
)
def test_the_first_loss_is_that_of_a_uniform_guess(hidden: int, tied: bool):
    embed = Embed(256, hidden)
    model = Transformer(
        vocab_size=256,
        hidden=hidden,
        embed=embed,
        output=embed if tied else Embed(256, hidden),
        layers=Repeat(Block(SelfAttention(hidden, 4), Mlp(hidden, hidden)), 2),
    )
    tokens = np.random.default_rng(0).integers(0, 256, (4, 33))
    answers = logits(model, initial(model, tokens), tokens[:, :-1])
    loss = optax.softmax_cross_entropy_with_integer_labels(answers, tokens[:, 1:])
    assert abs(float(loss.mean()) - math.log(256)) < 0.3


@pytest.mark.parametrize("tied", [False, True], ids=["untied", "tied"])
@pytest.mark.parametrize("kv_heads", [None, 2])
@pytest.mark.parametrize("gated", [False, True], ids=["plain", "gated"])
def test_the_number_of_parameters_is_as_on_paper(
    tied: bool, kv_heads: int | None, gated: bool
):
    model = small_model(
        tied=tied, attention={"num_kv_heads": kv_heads}, mlp={"gated": gated}
    )
    tokens = some_tokens()
    shapes = jax.eval_shape(model.init, jax.random.key(0), tokens)
    count = sum(leaf.size for leaf in jax.tree.leaves(shapes))
    head_dim = HIDDEN // 4
    attention = HIDDEN * head_dim * (2 * 4 + 2 * (kv_heads or 4))
    mlp = HIDDEN * WIDTH * (3 if gated else 2)
    norms = 2 * HIDDEN
    tables = VOCAB * HIDDEN * (1 if tied else 2)
    assert count == LAYERS * (attention + mlp + norms) + HIDDEN + tables


def test_every_parameter_has_its_place_shape_and_logical_axes():
    model = small_model(
        attention={"num_kv_heads": 2, "head_dim": 6},
        mlp={"gated": True},
        positions=LearnedPositions(32, HIDDEN),
    )
    named = by_path(boxes(model, some_tokens()))
    assert {path: (box.names, box.value.shape) for path, box in named.items()} == {
        "embed/embedding": (("vocab", "embed"), (19, 16)),
        "layers/block/attention/key/kernel": (
            ("layers", "embed", "kv_heads", "head_dim"),
            (2, 16, 2, 6),
        ),
        "layers/block/attention/out/kernel": (
            ("layers", "heads", "head_dim", "embed"),
            (2, 4, 6, 16),
        ),
        "layers/block/attention/query/kernel": (
            ("layers", "embed", "heads", "head_dim"),
            (2, 16, 4, 6),
        ),
        "layers/block/attention/value/kernel": (
            ("layers", "embed", "kv_heads", "head_dim"),
            (2, 16, 2, 6),
        ),
        "layers/block/attention_norm/scale": (("layers", "embed"), (2, 16)),
        "layers/block/mlp/down/kernel": (("layers", "mlp", "embed"), (2, 24, 16)),
        "layers/block/mlp/gate/kernel": (("layers", "embed", "mlp"), (2, 16, 24)),
        "layers/block/mlp/up/kernel": (("layers", "embed", "mlp"), (2, 16, 24)),
        "layers/block/mlp_norm/scale": (("layers", "embed"), (2, 16)),
        "norm/scale": (("embed",), (16,)),
        "output/embedding": (("vocab", "embed"), (19, 16)),
        "positions/embedding": ((None, "embed"), (32, 16)),
    }


def test_bfloat16_is_for_computing_and_float32_for_keeping():
    tokens = some_tokens()
    model = small_model(dtype=jnp.bfloat16)
    params = parameters(model, tokens)
    assert {leaf.dtype for leaf in jax.tree.leaves(params)} == {jnp.dtype("float32")}
    _, kept = jax.jit(
        lambda params: model.apply(
            {"params": params}, tokens, capture_intermediates=True
        )
    )(params)
    stream = by_path(kept)["intermediates/layers/block/__call__/0"]
    assert stream.dtype == jnp.bfloat16
    answers = logits(model, params, tokens)
    assert answers.dtype == np.float32
    full = logits(small_model(), params, tokens)
    difference = np.abs(answers - full).max()
    assert 0 < difference < 0.05 * np.abs(full).max()


def test_a_part_of_another_width_is_refused_by_name():
    model = small_model()
    wide = model.clone(hidden=HIDDEN + 1)
    with pytest.raises(ValueError, match=r"embed gives 16 values .* hidden=17"):
        jax.eval_shape(wide.init, jax.random.key(0), some_tokens())
    large = model.clone(vocab_size=VOCAB + 1)
    with pytest.raises(ValueError, match=r"output gives 19 values .* vocab_size=20"):
        jax.eval_shape(large.init, jax.random.key(0), some_tokens())


def test_a_token_past_the_vocabulary_gives_nan_and_not_a_wrong_answer():
    model = small_model()
    tokens = some_tokens(2, 4)
    params = parameters(model, tokens)
    tokens[0, 2] = VOCAB
    answers = logits(model, params, tokens)
    assert np.isnan(answers[0]).all()
    assert np.isfinite(answers[1]).all()


def test_dropout_is_on_exactly_when_its_key_is_given():
    model = small_model(dropout=0.5)
    tokens = some_tokens()
    params = parameters(model, tokens)
    off = logits(model, params, tokens)
    np.testing.assert_array_equal(off, logits(small_model(), params, tokens))
    run = jax.jit(
        lambda key: model.apply({"params": params}, tokens, rngs={"dropout": key})
    )
    one, again, other = (np.asarray(run(jax.random.key(k))) for k in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert np.abs(one - off).max() > 1e-3
    assert np.abs(one - other).max() > 1e-3


def test_without_dropout_no_random_number_is_drawn():
    model = small_model()
    tokens = some_tokens()
    params = parameters(model, tokens)
    lowered = jax.jit(
        lambda key: model.apply({"params": params}, tokens, rngs={"dropout": key})
    ).lower(jax.random.key(1))
    assert "random" not in lowered.as_text()
    assert "threefry" not in lowered.as_text()


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_the_order_of_fields_is_frozen_because_it_names_shared_parameters(
    variant: dict[str, Any],
):
    names = {
        cls: [n for n in cls.__dataclass_fields__ if n not in ("parent", "name")]
        for cls in (Transformer, Block, Repeat)
    }
    assert names == {
        Transformer: [
            "vocab_size",
            "hidden",
            "embed",
            "output",
            "positions",
            "layers",
            "norm",
        ],
        Block: ["attention", "mlp", "norm", "dropout"],
        Repeat: ["block", "n", "scan", "shared", "axis_name", "remat", "pipeline"],
    }
    tied = by_path(boxes(small_model(tied=True, **variant), some_tokens()))
    assert "embed/embedding" in tied
    assert not any(path.startswith("output") for path in tied)


@pytest.mark.slow
def test_a_tiny_model_learns_to_copy_what_it_has_read():
    """The second half of a row repeats the first: a model must look back to know."""
    vocab, half, batch = 16, 16, 64
    hidden = 64
    embed = Embed(vocab, hidden)
    model = Transformer(
        vocab_size=vocab,
        hidden=hidden,
        embed=embed,
        output=Embed(vocab, hidden),
        layers=Repeat(
            Block(SelfAttention(hidden, 4), Mlp(hidden, 2 * hidden)), 2, scan=False
        ),
    )

    def rows(key: jax.Array) -> jax.Array:
        first = jax.random.randint(key, (batch, half), 0, vocab)
        return jnp.concatenate([first, first], axis=1)

    def copied_bits(params: Any, tokens: jax.Array) -> jax.Array:
        answers = model.apply({"params": params}, tokens[:, :-1])
        loss = optax.softmax_cross_entropy_with_integer_labels(answers, tokens[:, 1:])
        return loss[:, half - 1 :].mean() / math.log(2)

    optimizer = optax.adam(optax.warmup_cosine_decay_schedule(0, 3e-3, 50, 600))
    params = nn.meta.unbox(model.init(jax.random.key(0), rows(jax.random.key(1))))
    state = optimizer.init(params["params"])

    @jax.jit
    def step(params: Any, state: Any, key: jax.Array) -> tuple[Any, Any]:
        gradient = jax.grad(copied_bits)(params, rows(key))
        updates, state = optimizer.update(gradient, state)
        return optax.apply_updates(params, updates), state

    params = params["params"]
    for key in jax.random.split(jax.random.key(2), 600):
        params, state = step(params, state, key)
    assert float(copied_bits(params, rows(jax.random.key(3)))) < 0.1
