"""Small experiments, one that is right and others that are wrong in one thing each."""

from __future__ import annotations

import fiddle as fdl
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jaxtyping import Float

from fdlkit.data.pipeline import Pipeline
from fdlkit.data.source import InMemory
from fdlkit.nn.pipelining import Pipelining
from fdlkit.nn.repeat import Repeat
from fdlkit.sharding.mesh import Mesh, MeshAxes
from fdlkit.train.metrics import MeanLoss
from fdlkit.train.nnx_models import NnxModel
from fdlkit.train.trainer import Trainer

VOCAB = 8


class Body(nn.Module):
    """A layer, with a fault that its caller asks for."""

    fault: str = ""

    @nn.compact
    def __call__(self, x: Float[jax.Array, "batch time embed"]) -> jax.Array:
        y = nn.Dense(4)(x)
        if self.fault == "nan":
            y = jnp.log(y - 100.0)
        if self.fault == "division":
            y = y / jnp.sum(jnp.zeros_like(y), axis=-1, keepdims=True)
        return Tail(name="tail")(y, y[:, :, :3] if self.fault == "axis" else y)


class Tail(nn.Module):
    """Two arrays that must be as wide as each other."""

    def __call__(
        self,
        a: Float[jax.Array, "batch time width"],
        b: Float[jax.Array, "batch time width"],
    ) -> jax.Array:
        return a + jnp.sum(b, axis=-1, keepdims=True)


class Classes(nn.Module):
    """Numbers for each of `VOCAB` labels, of tokens."""

    fault: str = ""

    @nn.compact
    def __call__(self, tokens: jax.Array) -> jax.Array:
        x = nn.Embed(VOCAB, 4, name="embed")(tokens)
        return nn.Dense(VOCAB, name="head")(Body(self.fault, name="body")(x))


def rows(highest: int = VOCAB) -> dict[str, np.ndarray]:
    """Tokens, `[16, 5]` int32, below `highest`; labels are right ones."""
    rng = np.random.default_rng(0)
    tokens = rng.integers(0, VOCAB, size=(16, 5)).astype(np.int32)
    tokens[2, 3] = highest - 1
    return {"tokens": tokens, "labels": tokens % VOCAB}


def base(
    *, fault: str = "", highest: int = VOCAB, devices: int = 1
) -> fdl.Config[Trainer]:
    """Trains; `fault` and `highest` say what is wrong."""
    data = [
        fdl.Config(
            Pipeline,
            source=fdl.Config(InMemory, fdl.Config(rows, highest=highest)),
            batch_size=8,
            shuffle=False,
            num_epochs=epochs,
        )
        for epochs in (None, 1)
    ]
    return fdl.Config(
        Trainer,
        model=fdl.Config(Classes, fault=fault),
        train_data=data[0],
        eval_data=data[1],
        metrics={"loss": fdl.Config(MeanLoss)},
        optimizer=fdl.Config(optax.sgd, 0.1),
        num_train_steps=5,
        mesh=fdl.Config(Mesh, ici=fdl.Config(MeshAxes, data=devices)),
    )


class NnxNet(nnx.Module):
    """Numbers for each label, of an NNX module with a state and a random stream."""

    def __init__(self, *, rngs: nnx.Rngs, fault: str = ""):
        self.embed = nnx.Embed(VOCAB, 4, rngs=rngs)
        self.norm = nnx.BatchNorm(4, rngs=rngs)
        self.dropout = nnx.Dropout(0.1, rngs=rngs)
        self.head = nnx.Linear(4, VOCAB, rngs=rngs)
        self.fault = fault

    def __call__(self, tokens: jax.Array) -> jax.Array:
        y = self.dropout(self.norm(self.embed(tokens)))
        return self.head(jnp.log(y - 99.0) if self.fault == "nan" else y)


def of_nnx(*, fault: str = "") -> fdl.Config[Trainer]:
    """The same, of an NNX module."""
    cfg = base()
    cfg.model = fdl.Config(NnxModel, fdl.Partial(NnxNet, fault=fault))
    return cfg


def embedded(tokens: jax.Array) -> jax.Array:
    """What stands for tokens in the layers."""
    return nn.Embed(features=4, num_embeddings=VOCAB, name="embed")(tokens)


class Stacked(nn.Module):
    """Numbers for each label, of a stack of layers."""

    layers: nn.Module

    @nn.compact
    def __call__(self, tokens: jax.Array) -> jax.Array:
        x = embedded(tokens)
        return nn.Dense(VOCAB, name="head")(self.layers(x))


def in_stages(*, fault: str = "") -> fdl.Config[Trainer]:
    """The same, of layers that are computed in stages."""
    cfg = base()
    stages = fdl.Config(Pipelining, num_stages=2, num_microbatches=4)
    layer = fdl.Config(Body, fault=fault)
    cfg.model = fdl.Config(Stacked, fdl.Config(Repeat, layer, 2, pipeline=stages))
    return cfg


def exploding() -> fdl.Config[Trainer]:
    """Right at first; the second step's numbers are too large for a float32."""
    cfg = base()
    cfg.optimizer.learning_rate = 1e38
    return cfg
