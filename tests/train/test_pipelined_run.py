"""A run goes on in stages from the checkpoint of one without, and the other way."""

from __future__ import annotations

import json

import flax.linen as nn
import jax
import numpy as np

from fdlkit.nn.pipelining import Pipelining
from fdlkit.nn.repeat import Repeat
from tests.train.toys import make_trainer

STAGES = Pipelining(num_stages=2, num_microbatches=4)


class Layer(nn.Module):
    """`[batch, features]` to the same."""

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        return x + nn.tanh(nn.Dense(x.shape[-1], name="dense")(x))


class Net(nn.Module):
    """Two layers and a head."""

    layers: nn.Module

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        return nn.Dense(1, name="head")(self.layers(x))


def train(workdir, pipeline: Pipelining | None, steps: int) -> None:
    model = Net(Repeat(Layer(), 2, pipeline=pipeline))
    make_trainer(model=model, num_train_steps=steps, log_every=4).train(workdir)


def losses(workdir) -> dict[int, dict[str, float]]:
    lines = (workdir / "metrics.jsonl").read_text().splitlines()
    kept = {"loss", "grad_norm", "param_norm", "eval/loss"}
    return {
        line["step"]: {k: v for k, v in line.items() if k in kept}
        for line in map(json.loads, lines)
    }


def test_checkpoints_open_in_both(tmp_path):
    train(tmp_path / "plain", None, 12)
    for name, halves in (("first", (STAGES, None)), ("then", (None, STAGES))):
        train(tmp_path / name, halves[0], 8)
        train(tmp_path / name, halves[1], 12)
        want, got = losses(tmp_path / "plain"), losses(tmp_path / name)
        assert 12 in got and 4 in got
        for step in (4, 12):
            for key, value in want[step].items():
                np.testing.assert_allclose(got[step][key], value, rtol=1e-4)
