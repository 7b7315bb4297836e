"""A config with something of every kind that flat text must tell."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
from typing import Any

import fiddle as fdl
import jax
import jax.numpy as jnp
import numpy as np
import optax

from fdlkit.graph.references import ref


class Width(fdl.Tag):
    """Every width."""


class Norm(enum.Enum):
    RMS = "rms"
    LAYER = "layer"


@dataclasses.dataclass(frozen=True)
class Options:
    """A built object whose own text has a set and a function in it."""

    names: frozenset[str] = frozenset({"alpha", "beta", "gamma", "delta"})
    function: Any = jax.nn.relu


@dataclasses.dataclass
class Layer:
    width: int = 8
    activation: Any = jax.nn.gelu
    dtype: Any = jnp.float32


@dataclasses.dataclass
class Model:
    hidden: int
    layers: list[Any]
    first: Any = None
    norm: Norm = Norm.LAYER
    shape: tuple[int, ...] = (1, 2)
    rules: Any = (("batch", ("data", "fsdp")), ("vocab", None))
    options: Options = Options()
    spec: Any = jax.sharding.PartitionSpec("data", None, ("fsdp", "tensor"))
    bound: Any = functools.partial(jax.nn.gelu, approximate=False)
    names: list[str] = dataclasses.field(default_factory=list)
    extra: Any = None
    must: Any = dataclasses.field(kw_only=True)


class Anything:
    """Its own text is an address."""


def config() -> fdl.Config[Model]:
    layers = [fdl.Config(Layer, width=ref("^hidden") * 2) for _ in range(11)]
    fdl.add_tag(layers[0], "width", Width)
    pair = [1]
    return fdl.Config(
        Model,
        hidden=64,
        layers=layers,
        first=layers[10],
        extra={
            "b10": 1.0, "b2": float("inf"), "words": {"x", "y", "z", "w"},
            "optimizer": fdl.Config(optax.chain, fdl.Partial(optax.adamw, 1e-3)),
            "order": collections.OrderedDict(z=1, a=2), "pair": pair, "again": pair,
            "array": np.arange(3, dtype=np.int32), "many": np.zeros(1000),
            "node": ref("layers[10]"), "lost": ref("nowhere"), "int": 10**5000,
            "line\nbreak": "two\nlines", "object": Anything(), 7: (), 12: None,
            "local": lambda: 1, "dtype": np.dtype("float32"),
        },
    )  # fmt: skip
