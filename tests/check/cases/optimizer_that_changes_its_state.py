"""An optimizer whose moments come back in another type."""

from __future__ import annotations

import fiddle as fdl
import jax
import jax.numpy as jnp
import optax

from tests.check.house import experiment


def narrowing(learning_rate):
    """Momentum that is kept in float32, and comes back in bfloat16."""

    def init(params):
        return jax.tree.map(jnp.zeros_like, params)

    def update(grads, state, params=None):
        del params
        state = jax.tree.map(
            lambda m, g: (0.9 * m + g).astype(jnp.bfloat16), state, grads
        )
        return jax.tree.map(lambda m: -learning_rate * m, state), state

    return optax.GradientTransformation(init, update)


def broken():
    return experiment(optimizer=fdl.Config(narrowing, learning_rate=0.1))
