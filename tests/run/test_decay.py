"""Weight decay is what an optimizer does, whatever it is made of."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import optax
import pytest

from fdlkit.run import decay
from fdlkit.run.decay import weight_decay

PARAMS = {
    "embed": jax.ShapeDtypeStruct((50_000, 4096), jnp.float32),
    "kernel": jax.ShapeDtypeStruct((128, 64), jnp.bfloat16),
    "bias": jax.ShapeDtypeStruct((64,), jnp.float32),
}


def matrices(params):
    return jax.tree.map(lambda p: p.ndim > 1, params)


def large(params):
    return jax.tree.map(lambda p: p.size > 10_000, params)


def labels(params):
    return {name: "decayed" if name == "kernel" else "other" for name in params}


def told(optimizer, learning_rate=None, steps=1000):
    found = weight_decay(
        optimizer, PARAMS, learning_rate=learning_rate, num_train_steps=steps
    )
    return {name: str(one) for name, one in found.items()}


def all_of(text):
    return dict.fromkeys(PARAMS, text)


RATE = 3e-3
WARM = optax.warmup_cosine_decay_schedule(0.0, RATE, 100, 1000, 1e-4)
STEP = optax.join_schedules(
    [optax.constant_schedule(0.0), optax.constant_schedule(RATE)], [200]
)


@pytest.mark.parametrize(
    ("optimizer", "rate", "expected"),
    [
        (optax.adam(RATE), RATE, all_of("none")),
        (optax.sgd(RATE, momentum=0.9), RATE, all_of("none")),
        (optax.adamw(RATE), RATE, all_of("0.0001 * learning_rate")),
        (optax.adamw(WARM, weight_decay=0.1), WARM, all_of("0.1 * learning_rate")),
        (optax.adamw(STEP, weight_decay=0.1), STEP, all_of("0.1 * learning_rate")),
        (optax.lion(RATE, weight_decay=0.01), RATE, all_of("0.01 * learning_rate")),
        (optax.adamw(RATE, weight_decay=0.1), None, all_of("0.0003 a step")),
        (optax.adamw(WARM, weight_decay=0.1), None, all_of("varies")),
        (
            optax.adamw(RATE, weight_decay=0.1, mask=matrices),
            RATE,
            all_of("0.1 * learning_rate") | {"bias": "none"},
        ),
        (
            optax.adamw(RATE, weight_decay=0.1, mask=large),
            RATE,
            all_of("none") | {"embed": "0.1 * learning_rate"},
        ),
        (
            optax.chain(
                optax.clip_by_global_norm(1.0),
                optax.masked(optax.add_decayed_weights(0.02), matrices),
                optax.sgd(RATE),
            ),
            RATE,
            all_of("0.02 * learning_rate") | {"bias": "none"},
        ),
        (
            optax.multi_transform(
                {
                    "decayed": optax.adamw(RATE, weight_decay=0.3),
                    "other": optax.adam(RATE),
                },
                labels,
            ),
            RATE,
            all_of("none") | {"kernel": "0.3 * learning_rate"},
        ),
        (
            optax.multi_transform(
                {"decayed": optax.adamw(RATE), "other": optax.set_to_zero()}, labels
            ),
            RATE,
            all_of("none") | {"kernel": "0.0001 * learning_rate"},
        ),
        (
            optax.chain(optax.add_decayed_weights(0.1), optax.adam(RATE)),
            RATE,
            all_of("coupled"),
        ),
        (
            optax.MultiSteps(optax.adamw(RATE, weight_decay=0.1), 20),
            RATE,
            all_of("0.1 * learning_rate"),
        ),
        (
            optax.inject_hyperparams(optax.adamw)(RATE, weight_decay=0.1),
            RATE,
            all_of("0.1 * learning_rate"),
        ),
        (
            optax.adafactor(WARM, weight_decay_rate=1e-3),
            WARM,
            all_of("0.001 a step"),
        ),
        (optax.adafactor(RATE), RATE, all_of("none")),
        (optax.lamb(RATE), RATE, all_of("none")),
        (
            optax.apply_if_finite(optax.adamw(RATE, weight_decay=0.1), 3),
            RATE,
            all_of("0.1 * learning_rate"),
        ),
        (
            optax.chain(optax.add_noise(0.1, 0.5, key=0), optax.adamw(RATE)),
            RATE,
            all_of("unknown"),
        ),
    ],
)  # fmt: skip
def test_what_a_step_takes_off_where_the_gradient_is_zero(optimizer, rate, expected):
    assert told(optimizer, rate) == expected


def test_a_decay_that_is_scheduled_by_itself_varies():
    decayed = optax.add_decayed_weights(optax.linear_schedule(0.1, 0.0, 1000))
    assert told(optax.chain(decayed, optax.sgd(RATE)), RATE) == all_of("varies")


def test_what_cannot_be_traced_is_unknown():
    def update(updates, state, params=None):
        raise ValueError("not today")

    broken = optax.GradientTransformation(lambda params: (), update)
    assert told(broken) == all_of("unknown")


def test_what_may_come_at_a_step_that_is_too_dear_to_look_at_is_unknown(monkeypatch):
    monkeypatch.setattr(decay, "_MOST_WORK", 100)
    assert told(optax.MultiSteps(optax.adamw(RATE), 20), RATE) == all_of("unknown")
    assert told(optax.adamw(RATE), RATE) == all_of("0.0001 * learning_rate")
    assert told(optax.adam(RATE), RATE) == all_of("none")


@pytest.mark.parametrize("size", [0.5, 3.0])
def test_it_is_what_the_optimizer_does_to_real_parameters(size):
    optimizer = optax.adamw(WARM, weight_decay=0.1, mask=matrices)
    params = {"kernel": jnp.full((4, 3), size), "bias": jnp.full((3,), size)}
    state = optimizer.init(params)
    zeros = jax.tree.map(jnp.zeros_like, params)
    for step in range(3):
        updates, state = optimizer.update(zeros, state, params)
        expected = -0.1 * WARM(step) * size
        assert jnp.allclose(updates["kernel"], expected, rtol=1e-5)
        assert not updates["bias"].any()
    found = weight_decay(optimizer, params, learning_rate=WARM, num_train_steps=1000)
    assert {name: str(one) for name, one in found.items()} == {
        "kernel": "0.1 * learning_rate",
        "bias": "none",
    }
