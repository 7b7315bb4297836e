"""What is said of models, writers and data of other kinds that cannot be."""

from __future__ import annotations

import functools
import importlib.util

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from fdlkit.data.byte_pairs import BytePairTokenizer
from fdlkit.data.corpus import TextFiles
from fdlkit.data.digits import Digits
from fdlkit.errors import UserError
from fdlkit.train.function_models import FunctionModel
from fdlkit.train.histograms import Histogram
from fdlkit.train.nnx_models import NnxModel
from fdlkit.train.service_writers import MlFlow, WeightsAndBiases
from tests.train.toys import make_trainer

EXTRAS = ("sklearn", "tokenizers", "wandb", "mlflow")


class Pair(nnx.Module):
    """Made of two recipes, of which it may make a variable too many."""

    def __init__(self, first, second, *, rngs: nnx.Rngs):
        self.first = first(rngs=rngs)
        self.second = second(rngs=rngs)

    def __call__(self, x):
        self.seen = nnx.BatchStat(jnp.zeros(()))
        return self.second(self.first(x))


def odd(axis: str) -> NnxModel:
    init = nnx.with_partitioning(nnx.initializers.ones, (None, axis))
    return NnxModel(functools.partial(nnx.Linear, 4, 1, kernel_init=init))


def linear(x):
    return hk.Linear(1, name="outer")(x)


def setup(model, **changes):
    return lambda: make_trainer(model=model, **changes).setup


def patterns(axes):
    return setup(FunctionModel(hk.transform(linear), axes=axes))


def pair(first, second):
    return lambda: NnxModel(functools.partial(Pair, first=first, second=second))


def late_variable():
    part = functools.partial(nnx.Linear, 4, 4)
    other = functools.partial(nnx.Linear, 4, 1)
    model = pair(part, other)()
    x = {"x": np.ones((2, 4), np.float32)}
    variables = model.init(jax.random.key(0), x)
    model.apply(variables, x, {"dropout": jax.random.key(0)})


RECIPE = functools.partial(nnx.Linear, 4, 4)
REFUSALS = {
    "a recipe where a model belongs": setup(RECIPE),
    "a pair of functions where a model belongs": setup(hk.transform(linear)),
    "one recipe in two places": pair(RECIPE, RECIPE),
    "a module that is made": pair(RECIPE, nnx.Linear(4, 4, rngs=nnx.Rngs(0))),
    "streams of keys that are made": lambda: NnxModel(
        functools.partial(nnx.Linear, 4, 4, rngs=nnx.Rngs(0))
    ),
    "a recipe of something else": setup(NnxModel(lambda rngs: 3)),
    "an input that the module does not take": setup(
        NnxModel(functools.partial(nnx.Linear, 4, 1)), inputs={"input": "batch.x"}
    ),
    "an axis without a rule": setup(odd("mpl"), inputs={"inputs": "batch.x"}),
    "a variable that the call makes": late_variable,
    "a pattern of no parameter": patterns({"outr/w": [None, "mlp"]}),
    "a pattern of other dims": patterns({"*/w": ["mlp"]}),
    "a histogram of nothing": lambda: Histogram(values="grads")(
        {"grads": {}, "batch": {}}
    ),
    "no wandb": WeightsAndBiases(project="p").check,
    "no mlflow": MlFlow(experiment="e").check,
    "no scikit-learn": lambda: len(Digits()),
    "no tokenizers": lambda: BytePairTokenizer(TextFiles(__file__)).encode("a"),
    "a vocabulary without the bytes": lambda: BytePairTokenizer(
        TextFiles("*.txt"), vocab_size=100
    ),
}


def test_every_refusal_is_as_kept(golden, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda n, *p: None if n in EXTRAS else find(n, *p)
    )
    said = []
    for what, run in REFUSALS.items():
        with pytest.raises(UserError) as refused:
            run()
        lines = "\n".join(f"  {line}" for line in refused.value.lines)
        said.append(f"{what}\n{lines}\n")
    golden("train/kinds", "\n".join(said))
