"""What is said of models, writers and data of other kinds that cannot be."""

from __future__ import annotations

import functools

import flax.linen as nn
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from fdlkit.data.byte_pairs import BytePairTokenizer
from fdlkit.data.corpus import TextFiles
from fdlkit.data.digits import Digits
from fdlkit.nn.pipelining import Pipelining
from fdlkit.nn.repeat import Repeat
from fdlkit.train.context import capturing
from fdlkit.train.function_models import FunctionModel
from fdlkit.train.histograms import Histogram
from fdlkit.train.metrics_of_values import TreeNorm
from fdlkit.train.nnx_models import NnxModel
from fdlkit.train.service_writers import MlFlow, WeightsAndBiases
from tests.train.test_pipelined_run import Layer, Net
from tests.train.toys import make_trainer


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
    return lambda _: make_trainer(model=model, **changes).setup


def patterns(axes):
    return setup(FunctionModel(hk.transform(linear), axes=axes))


def pair(first, second):
    return lambda _: NnxModel(functools.partial(Pair, first=first, second=second))


def late_variable(_):
    part = functools.partial(nnx.Linear, 4, 4)
    other = functools.partial(nnx.Linear, 4, 1)
    model = pair(part, other)(None)
    x = {"x": np.ones((2, 4), np.float32)}
    variables = model.init(jax.random.key(0), x)
    model.apply(variables, x, {"dropout": jax.random.key(0)})


class Raises(nn.Module):
    """A model of which a line is wrong."""

    @nn.compact
    def __call__(self, x):
        return nn.Dense(4)(x) + jnp.ones(3)


RECIPE = functools.partial(nnx.Linear, 4, 4)
REFUSED = {
    "a recipe where a model belongs": setup(RECIPE),
    "a pair of functions where a model belongs": setup(hk.transform(linear)),
    "one recipe in two places": pair(RECIPE, RECIPE),
    "a module that is made": pair(RECIPE, nnx.Linear(4, 4, rngs=nnx.Rngs(0))),
    "streams of keys that are made": lambda _: NnxModel(
        functools.partial(nnx.Linear, 4, 4, rngs=nnx.Rngs(0))
    ),
    "a recipe of something else": setup(NnxModel(lambda rngs: 3)),
    "an input that the module does not take": setup(
        NnxModel(functools.partial(nnx.Linear, 4, 1)), inputs={"input": "batch.x"}
    ),
    "no input where one is needed": setup(
        NnxModel(functools.partial(nnx.Linear, 4, 1)), inputs={}
    ),
    "a model that raises": setup(Raises()),
    "an intermediate of functions": setup(
        FunctionModel(hk.transform(linear)),
        metrics={"size": TreeNorm(tree="interms.outer.__call__[0]")},
    ),
    "an intermediate that a step is asked for": lambda _: capturing(
        FunctionModel(hk.transform(linear))
    ),
    "microbatches that stages do not have": setup(
        Net(Repeat(Layer(), 2, pipeline=Pipelining(num_stages=2, num_microbatches=3)))
    ),
    "an axis without a rule": setup(odd("mpl"), inputs={"inputs": "batch.x"}),
    "a variable that the call makes": late_variable,
    "a pattern of no parameter": patterns({"outr/w": [None, "mlp"]}),
    "a pattern of other dims": patterns({"*/w": ["mlp"]}),
    "a histogram of nothing": lambda _: Histogram(values="grads")(
        {"grads": {}, "batch": {}}
    ),
    "no wandb": lambda _: WeightsAndBiases(project="p").check(),
    "no mlflow": lambda _: MlFlow(experiment="e").check(),
    "no scikit-learn": lambda _: len(Digits()),
    "no tokenizers": lambda _: BytePairTokenizer(TextFiles(__file__)).encode("a"),
    "a vocabulary without the bytes": lambda _: BytePairTokenizer(
        TextFiles("*.txt"), vocab_size=100
    ),
}
