"""What is false but written reaches the constructor as it was written."""

from __future__ import annotations

import enum
import functools
import inspect
from typing import Any

import fiddle as fdl
import flax.linen as nn
import hypothesis
import jax
import optax
import pytest
from flax import nnx
from hypothesis import strategies as st

import fdlkit.nn.attention
import fdlkit.nn.embed
import fdlkit.nn.mlp
import fdlkit.nn.repeat
import fdlkit.nn.transformer
from fdlkit.errors import UserError
from fdlkit.graph import signatures
from fdlkit.graph.build import build
from fdlkit.overrides import hints
from fdlkit.overrides.apply import Override, apply
from fdlkit.serialize.loading import loads
from fdlkit.serialize.writing import dumps
from fdlkit.train.trainer import Trainer

FALSY: tuple[Any, ...] = (0, 0.0, False, "", None, (), [], {})

OPTIMIZERS = [
    getattr(optax, name)
    for name in (
        *("adabelief", "adadelta", "adafactor", "adagrad", "adam", "adamax", "adamaxw"),
        *("adamw", "adan", "amsgrad", "fromage", "lamb", "lars", "lion", "noisy_sgd"),
        *("novograd", "optimistic_adam", "polyak_sgd", "radam", "rmsprop", "rprop"),
        *("sgd", "sign_sgd", "sm3", "yogi", "warmup_cosine_decay_schedule"),
    )
]
LAYERS = [
    nn.Dense, nn.DenseGeneral, nn.Conv, nn.Embed, nn.LayerNorm, nn.RMSNorm,
    nn.BatchNorm, nn.Dropout, nn.MultiHeadDotProductAttention, nn.LSTMCell, nnx.Linear,
    nnx.LayerNorm, nnx.Dropout, nnx.MultiHeadAttention,
    fdlkit.nn.attention.SelfAttention,
    fdlkit.nn.embed.Embed, fdlkit.nn.mlp.Mlp, fdlkit.nn.transformer.Transformer,
    fdlkit.nn.repeat.Repeat,
]  # fmt: skip
CALLABLES = [*OPTIMIZERS, *LAYERS, Trainer]


def same(one: Any, two: Any) -> bool:
    return type(one) is type(two) and one == two


def received(config: fdl.Buildable) -> dict[str, Any]:
    """What the callable is called with, by a plain `functools.partial`."""
    built = build(config)
    assert isinstance(built, functools.partial) and not built.args
    return built.keywords


@st.composite
def written(draw: st.DrawFn) -> tuple[Any, dict[str, Any]]:
    """A callable, and false values for some of its arguments, or its own defaults."""
    called = draw(st.sampled_from(CALLABLES))
    known = signatures.parameters(called)
    names = draw(st.lists(st.sampled_from(sorted(known)), min_size=1, unique=True))
    values = {}
    for name in names:
        default = known[name].default
        choices = [*FALSY]
        if isinstance(default, int | float | str | bool):
            choices.append(default)  # as good as unset, but written
        values[name] = draw(st.sampled_from(choices))
    return called, values


@hypothesis.given(written())
@hypothesis.settings(deadline=None)
def test_a_false_value_reaches_the_constructor(case):
    called, values = case
    config = fdl.Partial(called, **values)
    for arrived in (received(config), received(loads(dumps(config), ALLOWED))):
        assert arrived.keys() == values.keys()
        assert all(same(arrived[name], values[name]) for name in values)


ALLOWED = ["flax.nnx"]


@hypothesis.given(st.sampled_from(CALLABLES), st.data())
@hypothesis.settings(deadline=None)
def test_a_false_override_reaches_the_constructor(called, data):
    name = data.draw(st.sampled_from(sorted(signatures.parameters(called))))
    value = data.draw(st.sampled_from(FALSY))
    text = value if isinstance(value, str) else repr(value)
    try:
        overrides = [Override("set", f"{name}={text}")]
        config, _ = apply(fdl.Partial(called), overrides, None)
    except UserError:
        return  # its type has no such value
    (arrived,) = received(config).values()
    annotation = signatures.parameters(called)[name].annotation
    taken = hints.union_members(annotation) or (annotation,)
    if isinstance(arrived, str):  # a text is a text, whatever it looks like
        assert arrived == text
    elif type(arrived) is type(value):
        assert arrived == value
    elif isinstance(arrived, enum.Enum):  # is written by its value too
        assert text == str(arrived.value)
    elif isinstance(value, tuple | list):  # brackets are typed by what is wanted
        assert not arrived and isinstance(arrived, tuple | list | set | frozenset)
    else:  # one number may be the way to write another, where it is not itself taken
        assert arrived == value and type(value) not in taken
        assert type(value) in (int, float) and type(arrived) in (bool, int, float)


@pytest.mark.parametrize("called", CALLABLES, ids=lambda c: c.__name__)
def test_every_false_default_may_be_written(called):
    """`adamw(weight_decay=0.0)`, `Dense(use_bias=False)`: in text, too."""
    for name, parameter in signatures.parameters(called).items():
        default = parameter.default
        if type(default) not in (int, float, bool, str, type(None)):
            continue
        text = default if isinstance(default, str) else repr(default)
        config, _ = apply(
            fdl.Partial(called), [Override("set", f"{name}={text}")], None
        )
        arrived = received(config)
        assert arrived.keys() == {name}
        assert arrived[name] == default and type(arrived[name]) in (
            type(default),
            float,
        ), (name, arrived)


LINEN = [
    layer for layer in LAYERS if inspect.isclass(layer) and issubclass(layer, nn.Module)
]


@pytest.mark.parametrize("layer", LINEN, ids=lambda c: c.__name__)
@pytest.mark.parametrize("value", FALSY, ids=repr)
def test_a_module_is_made_with_it(layer, value):
    known = signatures.parameters(layer)
    required = {n: 1 for n, parameter in known.items() if not parameter.has_default}
    for name in known:
        arguments = {**required, name: value}
        try:
            made = layer(**arguments)
        except (TypeError, ValueError, UserError):
            continue  # it looks at its fields when it is made
        built = build(fdl.Config(layer, **arguments))
        assert same(getattr(built, name), getattr(made, name))


def test_an_optimizer_is_made_with_it():
    config = fdl.Config(
        optax.adamw, 0.0, b1=0.0, eps=0, weight_decay=0.0, mask=None, nesterov=False
    )
    updates = []
    for optimizer in (build(config), build(loads(dumps(config)))):
        state = optimizer.init({"w": jax.numpy.ones(2)})
        update, _ = optimizer.update(
            {"w": jax.numpy.ones(2)}, state, {"w": jax.numpy.ones(2)}
        )
        updates.append(update["w"].tolist())
    assert updates == [[0.0, 0.0]] * 2
