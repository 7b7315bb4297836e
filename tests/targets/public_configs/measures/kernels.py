from __future__ import annotations

import dataclasses

import jax.numpy as jnp


def euclidean(x, y):
    return jnp.sqrt(((x - y) ** 2).sum(-1))


def powered(x, y, power: float = 1.0):
    return euclidean(x, y) ** power


@dataclasses.dataclass(frozen=True)
class Gaussian:
    bandwidths: tuple[float, ...]


@dataclasses.dataclass(frozen=True)
class Quadratic:
    bandwidths: tuple[float, ...]


@dataclasses.dataclass(frozen=True)
class Negated:
    pass
