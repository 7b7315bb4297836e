"""Small experiments, one that is right and others that are wrong in one thing each."""

from __future__ import annotations

import fiddle as fdl
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Float

from fdlkit.data.pipeline import Pipeline
from fdlkit.data.source import InMemory
from fdlkit.sharding.mesh import Mesh, MeshAxes
from fdlkit.train.metrics import MeanLoss
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


def exploding() -> fdl.Config[Trainer]:
    """Right at first; the second step's numbers are too large for a float32."""
    cfg = base()
    cfg.optimizer.learning_rate = 1e38
    return cfg
