"""Arrays of one number each: what is known of them is what JAX computes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fdlkit.run.uniform import UNKNOWN, evaluate

BIG = jax.ShapeDtypeStruct((300, 200), jnp.float32)


def run(function, *values, shape=BIG):
    traced = jax.make_jaxpr(function)(*[shape] * len(values))
    return evaluate(traced, values)


def looped(x):
    return jax.lax.fori_loop(0, 5, lambda i, y: y + i * x, x)


def scanned(x):
    return jax.lax.scan(lambda c, row: (c + row.sum(), c * 1.0), jnp.float32(0), x)[0]


FUNCTIONS = [
    lambda x: x * 2 + 1,
    lambda x: jnp.where(x > 0, x, -x) ** 3,
    lambda x: jnp.sum(x) / jnp.max(x),
    lambda x: jnp.sqrt(jnp.mean(x**2, axis=0)),
    lambda x: (x.T @ x)[:7],
    lambda x: jax.nn.softmax(x).reshape(-1),
    lambda x: jnp.concatenate([x, x]).astype(jnp.int32),
    lambda x: jax.lax.cond(x.sum() > 3, jnp.sin, jnp.cos, x),
    lambda x: jnp.clip(x, -1, 1) % 0.3,
    lambda x: jnp.linalg.norm(x, axis=1),
    looped,
    scanned,
    lambda x: jnp.float32(jnp.arange(5)).sum() * x,
    lambda x: jax.nn.relu(x) + jax.nn.gelu(x),
]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("value", [-1.5, 0.0, 2.25])
def test_a_number_is_what_the_array_holds(function, value):
    found = run(function, value)[0]
    whole = np.asarray(function(jnp.full(BIG.shape, value)))
    if found is not UNKNOWN:
        np.testing.assert_allclose(whole, found, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("function", [f for n, f in enumerate(FUNCTIONS) if n != 8])
def test_these_are_known(function):
    assert isinstance(run(function, 2.25)[0], bool | int | float)


def test_what_differs_from_place_to_place_is_unknown():
    assert run(lambda x: x * jnp.arange(200.0), 1.0) == [UNKNOWN]
    noise = lambda x: x + jax.random.normal(jax.random.key(0), x.shape)  # noqa: E731
    assert run(noise, 1.0) == [UNKNOWN]
    assert run(jnp.cumsum, 1.0) == [UNKNOWN]


def test_an_endless_loop_is_unknown():
    endless = lambda x: jax.lax.while_loop(lambda y: y.sum() > 0, lambda y: y, x)  # noqa: E731
    assert run(endless, 1.0) == [UNKNOWN]
    assert run(endless, 0.0) == [0.0]


def test_of_unknown_branches_what_they_agree_on_is_known():
    def either(x):
        noise = jax.random.normal(jax.random.key(0), x.shape).sum()
        return jax.lax.cond(noise > 0, lambda: (x, x), lambda: (x, 2 * x))

    assert run(either, 3.0) == [3.0, UNKNOWN]
