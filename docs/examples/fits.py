"""What `fit.py` runs, and the configs of it: a file that others can import."""

from __future__ import annotations

import dataclasses

import fiddle as fdl
import jax
import jax.numpy as jnp
import optax


@dataclasses.dataclass(frozen=True)
class Fit:
    """Fits a polynomial to noisy points of a sine, by gradient descent."""

    optimizer: optax.GradientTransformation
    degree: int = 1
    steps: int = 100
    noise: float = 0.1
    seed: int = 0

    def run(self) -> float:
        """The loss at the end."""
        x = jnp.linspace(-1.0, 1.0, 64)
        error = jax.random.normal(jax.random.key(self.seed), x.shape)
        y = jnp.sin(3 * x) + self.noise * error

        def loss(weights: jax.Array) -> jax.Array:
            return jnp.mean((jnp.polyval(weights, x) - y) ** 2)

        @jax.jit
        def step(weights: jax.Array, state: optax.OptState):
            updates, state = self.optimizer.update(jax.grad(loss)(weights), state)
            return optax.apply_updates(weights, updates), state

        weights = jnp.zeros(self.degree + 1)
        state = self.optimizer.init(weights)
        for _ in range(self.steps):
            weights, state = step(weights, state)
        return float(loss(weights))


def line() -> fdl.Config[Fit]:
    """A straight line."""
    return fdl.Config(Fit, optimizer=fdl.Config(optax.sgd, learning_rate=0.1))


def curve(cfg: fdl.Config[Fit], degree: int = 3) -> None:
    """A fiddler: a curve in place of the line."""
    cfg.degree = degree
