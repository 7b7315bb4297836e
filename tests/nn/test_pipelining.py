"""A pipeline computes what the stack without one does, row by row."""

from __future__ import annotations

import functools
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fdlkit.nn.mlp import Mlp
from fdlkit.nn.pipelining import Pipelining
from fdlkit.nn.repeat import Repeat
from fdlkit.train.throughput import count_flops
from tests.nn.models import (
    HIDDEN,
    expect_close,
    expect_equal_bits,
    initial,
    logits,
    parameters,
    small_model,
    some_tokens,
)

ROWS, LAYERS = 8, 4
# Stages, microbatches, repeats.
SCHEDULES = [(1, 4, 1), (2, 4, 1), (4, 2, 1), (2, 2, 2), (2, 4, 2)]


def pipelining(stages: int, microbatches: int, repeats: int = 1) -> Pipelining:
    return Pipelining(
        num_stages=stages, num_microbatches=microbatches, num_repeats=repeats
    )


class Mix(nn.Module):
    """A small layer that knows segments, and drops if there is a key."""

    dropout: float = 0.0

    @nn.compact
    def __call__(self, x: jax.Array, *, segment_ids: jax.Array) -> jax.Array:
        same = segment_ids[:, :, None] == segment_ids[:, None]
        y = jnp.einsum("bts,bsd->btd", same / same.sum(-1, keepdims=True), x)
        y = nn.tanh(nn.Dense(HIDDEN, name="dense")(y))
        drop = nn.Dropout(self.dropout, deterministic=not self.has_rng("dropout"))
        return x + drop(y)


def rows() -> tuple[np.ndarray, np.ndarray]:
    """`[batch, time, embed]`, and segments that differ from row to row."""
    x = np.random.default_rng(0).normal(size=(ROWS, 6, HIDDEN)).astype(np.float32)
    starts = np.arange(ROWS)[:, None] % 5
    return x, (np.arange(6)[None] > starts).astype(np.int32)


@functools.cache
def value_and_gradient(
    pipeline: Pipelining | None, *, dropout: float = 0.0, **repeat: Any
) -> tuple[Any, Any]:
    """A scalar of the rows behind the layers, and its gradient."""
    stack = Repeat(Mix(dropout), LAYERS, pipeline=pipeline, **repeat)
    x, segment_ids = rows()
    params = parameters(Repeat(Mix(), LAYERS), x, segment_ids=segment_ids)

    def value(params: Any, x: Any) -> jax.Array:
        rngs = {"dropout": jax.random.key(3)} if dropout else {}
        y = stack.apply({"params": params}, x, segment_ids=segment_ids, rngs=rngs)
        weights = np.arange(1, ROWS + 1)[:, None, None]  # rows in another order show
        return (weights * y**2).mean()

    return jax.jit(jax.value_and_grad(value, argnums=(0, 1)))(params, x)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_values_and_gradients_are_those_of_the_plain_stack(schedule):
    plain = value_and_gradient(None)
    piped = value_and_gradient(pipelining(*schedule))
    expect_close(piped, plain, rtol=2e-5, atol=2e-6)
    assert all(np.abs(leaf).max() > 0 for leaf in jax.tree.leaves(piped[1]))


def test_a_transformer_with_packed_rows_is_the_same_in_stages():
    tokens = some_tokens(batch=4)
    segment_ids = (np.arange(12)[None] >= np.arange(4)[:, None] + 2).astype(np.int32)
    plain, piped = (
        small_model(repeat={"n": 2, "pipeline": pipeline})
        for pipeline in (None, pipelining(2, 2))
    )
    params = parameters(plain, tokens)
    answers = [
        logits(model, params, tokens, segment_ids=segment_ids)
        for model in (plain, piped)
    ]
    np.testing.assert_allclose(answers[1], answers[0], rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(
    "how", [{"remat": "full"}, {"remat": "dots_saveable"}, {"scan": False}], ids=str
)
def test_computing_again_and_laying_out_change_no_number(how: dict[str, Any]):
    piped = pipelining(2, 2, 2)
    expect_close(value_and_gradient(piped, **how), value_and_gradient(piped))


def test_computing_again_keeps_less():
    x, segment_ids = rows()
    params = parameters(Repeat(Mix(), LAYERS), x, segment_ids=segment_ids)

    def residuals(remat: str) -> int:
        stack = Repeat(Mix(), LAYERS, pipeline=pipelining(2, 4), remat=remat)

        def run(params):
            return stack.apply({"params": params}, x, segment_ids=segment_ids)

        _, backward = jax.eval_shape(lambda params: jax.vjp(run, params), params)
        return sum(leaf.size for leaf in jax.tree.leaves(backward))

    none, dots, full = map(residuals, ("none", "dots_saveable", "full"))
    assert full < dots < none


def test_initial_values_are_those_of_the_plain_stack_to_the_bit():
    x, segment_ids = rows()
    plain, piped = (
        initial(Repeat(Mix(), LAYERS, pipeline=p), x, segment_ids=segment_ids)
        for p in (None, pipelining(2, 2, 2))
    )
    expect_equal_bits(plain, piped)


def test_dropout_does_not_depend_on_stages_and_repeats():
    first, *others = (
        value_and_gradient(pipelining(*schedule), dropout=0.3)
        for schedule in ((1, 4, 1), (2, 4, 1), (2, 4, 2))
    )
    for other in others:
        expect_close(other, first, rtol=2e-5, atol=2e-6)
    assert not np.allclose(first[0], value_and_gradient(pipelining(2, 4))[0])


class Ones(nn.Module):
    """Adds a mask of dropped ones to a part of `x` of its own for each layer."""

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        drop = nn.Dropout(0.5, deterministic=not self.has_rng("dropout"))
        return jnp.roll(x, 1, axis=1).at[:, 0].add(drop(jnp.ones_like(x[:, 0])))


def test_layers_and_microbatches_drop_different_values():
    masks = Repeat(Ones(), 2, pipeline=pipelining(2, 2)).apply(
        {}, jnp.zeros((4, 2, 64)), rngs={"dropout": jax.random.key(0)}
    )
    assert set(np.unique(masks)) == {0, 2}
    different = {np.asarray(mask).tobytes() for mask in masks.reshape(8, 64)}
    assert len(different) == 8


def test_rows_come_back_in_their_order_in_any_type():
    x = jnp.arange(8, dtype=jnp.bfloat16)[:, None, None] * jnp.ones((1, 3, 2))

    class Add(nn.Module):
        @nn.compact
        def __call__(self, x: jax.Array, *, row: jax.Array, one: jax.Array, none: None):
            assert none is None
            assert x.shape[0] == row.shape[0] == 2
            assert one.shape == (1, 3)
            return x + row[:, None, None].astype(x.dtype) + one[:, :, None]

    stack = Repeat(Add(), 4, pipeline=pipelining(2, 4, 2))
    row, one = jnp.arange(8) * 8, jnp.ones((1, 3), jnp.bfloat16)
    y = stack.apply({}, x.astype(jnp.bfloat16), row=row, one=one, none=None)
    assert y.dtype == jnp.bfloat16
    np.testing.assert_array_equal(y[:, 0, 0], np.arange(8) * 33 + 4)


def test_a_shared_module_is_used_by_all_stages():
    class Uses(nn.Module):
        width: int

        @nn.compact
        def __call__(self, x: jax.Array, mix: Any) -> jax.Array:
            return x + mix(nn.Dense(self.width, name="own")(x))

    class Net(nn.Module):
        mix: nn.Module
        stack: nn.Module

        def __call__(self, x: jax.Array) -> jax.Array:
            return self.mix(self.stack(x))

    def net(pipeline: Pipelining | None) -> Net:
        mix = Mlp(HIDDEN, HIDDEN)
        return Net(mix, Repeat(Uses(HIDDEN), 4, shared=(mix,), pipeline=pipeline))

    x = np.random.default_rng(0).normal(size=(4, 5, HIDDEN)).astype(np.float32)
    expect_equal_bits(initial(net(None), x), initial(net(pipelining(2, 2)), x))
    params = parameters(net(None), x)

    def gradient(pipeline: Pipelining | None) -> Any:
        def value(params):
            return (net(pipeline).apply({"params": params}, x) ** 2).mean()

        return jax.jit(jax.value_and_grad(value))(params)

    for schedule in ((2, 2, 1), (2, 2, 2)):
        expect_close(gradient(pipelining(*schedule)), gradient(None))


def test_stages_that_wait_leave_no_nan_in_gradients():
    class Direction(nn.Module):
        @nn.compact
        def __call__(self, x: jax.Array) -> jax.Array:
            y = nn.Dense(HIDDEN, use_bias=False, name="dense")(x)
            return x + y / jnp.linalg.norm(y, axis=-1, keepdims=True)

    x = np.random.default_rng(0).normal(size=(4, 3, HIDDEN)).astype(np.float32)
    stack = Repeat(Direction(), 4, pipeline=pipelining(4, 2))
    params = parameters(stack, x)
    grads = jax.jit(
        jax.grad(lambda params: (stack.apply({"params": params}, x) ** 3).sum())
    )(params)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(grads))


def test_a_stack_of_stacks_can_be_a_pipeline():
    x = np.random.default_rng(0).normal(size=(4, 3, HIDDEN)).astype(np.float32)

    def stack(pipeline: Pipelining | None) -> Repeat:
        inner = Repeat(Mlp(HIDDEN, HIDDEN), 3, axis_name="inner_layers")
        return Repeat(inner, 2, pipeline=pipeline)

    params = parameters(stack(None), x)
    np.testing.assert_allclose(
        logits(stack(pipelining(2, 2)), params, x),
        logits(stack(None), params, x),
        rtol=1e-5,
        atol=1e-6,
    )


def test_decoding_computes_layers_one_after_another():
    x, segment_ids = (array[:3] for array in rows())  # three rows: no two microbatches
    plain, piped = (Repeat(Mix(), LAYERS, pipeline=p) for p in (None, pipelining(2, 2)))
    params = parameters(plain, x, segment_ids=segment_ids)
    got, want = (
        stack.apply({"params": params}, x, segment_ids=segment_ids, mutable="cache")[0]
        for stack in (piped, plain)
    )
    np.testing.assert_array_equal(got, want)


def test_the_bubble_is_what_the_schedule_says():
    assert pipelining(4, 12).bubble == 3 / 15
    assert pipelining(4, 12, 3).bubble == 3 / 39
    assert pipelining(1, 12).bubble == 0
    assert pipelining(8, 64).num_iterations == 71


@pytest.mark.parametrize("schedule", [(2, 4, 1), (4, 4, 1), (2, 2, 2)])
def test_the_bubble_is_no_flops_of_the_model(schedule):
    x, segment_ids = rows()
    params = parameters(Repeat(Mix(), LAYERS), x, segment_ids=segment_ids)

    def flops(pipeline: Pipelining | None) -> int:
        def run(params):
            stack = Repeat(Mix(), LAYERS, pipeline=pipeline)
            return stack.apply({"params": params}, x, segment_ids=segment_ids)

        return count_flops(jax.make_jaxpr(run)(params))

    assert flops(pipelining(*schedule)) == flops(None)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: pipelining(0, 4), r"num_stages=0: it must be one at least"),
        (lambda: pipelining(2, 0), r"num_microbatches=0"),
        (
            lambda: pipelining(4, 2, 2),
            r"num_microbatches=2 is less than num_stages=4: .*=4 or more, or num_rep",
        ),
        (
            lambda: Repeat(Mlp(HIDDEN, HIDDEN), 6, pipeline=pipelining(4, 8)),
            r"n=6 layers do not fill .* num_stages=4; n=4 or 8 would be",
        ),
        (
            lambda: Repeat(Mlp(HIDDEN, HIDDEN), 6, pipeline=pipelining(2, 8, 2)),
            r"num_stages=2 \* num_repeats=2; n=4 or 8",
        ),
        (
            lambda: Repeat(
                Repeat(
                    Mlp(HIDDEN, HIDDEN), 2, axis_name="b", pipeline=pipelining(2, 2)
                ),
                2,
                pipeline=pipelining(2, 2),
            ),
            r"block has one too",
        ),
    ],
)
def test_what_cannot_be_computed_is_refused_when_it_is_made(make, text):
    with pytest.raises(ValueError, match=text):
        make()


def test_rows_that_come_out_uneven_are_refused_before_the_compiler():
    x, segment_ids = rows()
    with pytest.raises(
        ValueError,
        match=r"a batch of 8 rows is not a multiple of num_microbatches=3; "
        r"would work: num_microbatches=2 or num_microbatches=4 or a batch of 6 or 9",
    ):
        Repeat(Mix(), LAYERS, pipeline=pipelining(2, 3)).apply(
            {"params": {}}, x, segment_ids=segment_ids
        )
