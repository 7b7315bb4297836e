"""JSON keeps a config whole, or says what it cannot keep."""

from __future__ import annotations

import json
import math

import fiddle as fdl
import flax.linen as nn
import hypothesis
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from fiddle.experimental import dict_config

from fdlkit.graph.build import build
from fdlkit.graph.equality import equal
from fdlkit.graph.references import ref
from fdlkit.graph.snapshot import snapshot
from fdlkit.serialize.loading import loads
from fdlkit.serialize.reading import read
from fdlkit.serialize.writing import dumps
from tests.graph.configs import Box, Dynamic, Norm, Rate, collect, configs

HERE = ["tests.graph.configs", "tests.graph.values"]


@hypothesis.given(configs())
def test_what_is_loaded_equals_what_was_dumped(config):
    text = dumps(config)
    again = loads(text, allow=HERE)
    assert equal(again, config)
    assert dumps(again) == text


@hypothesis.given(configs())
def test_reading_gives_the_same_graph_without_looking_anything_up(config):
    text = dumps(config)
    graph = read(text)
    assert equal(graph, config) and equal(snapshot(config), graph)
    assert dumps(graph) == text


@hypothesis.given(configs())
def test_the_text_is_strict_json_with_a_line_a_node(config):
    text = dumps(config)

    def refuse(name):
        raise AssertionError(name)

    data = json.loads(text, parse_constant=refuse)
    assert data["schema"] == "fdlkit.config/1"
    assert text.count("\n") == len(data["nodes"]) + (4 if data["nodes"] else 3)


def test_public_names_dtypes_and_numbers_that_json_lacks_are_kept():
    config = fdl.Config(
        Box,
        a=[
            jnp.bfloat16,
            np.float32,
            np.dtype("int8"),
            jnp.dtype(jnp.bfloat16),
            nn.gelu,
        ],
        b=[math.inf, -math.inf, math.nan, -0.0, 1.0, 1, 10**30, "\ud800", 1 + 2j],
        c=fdl.Partial(
            nn.Dense, 3, kernel_init=fdl.Config(nn.initializers.lecun_normal)
        ),
    )
    text = dumps(config)
    for name in (
        '"jax.numpy:bfloat16"', '"numpy:float32"', '"jax.nn:gelu"',
        '"flax.linen:Dense"', '"jax.nn.initializers:lecun_normal"', '{"dtype": "int8"}',
    ):  # fmt: skip
        assert name in text
    assert equal(loads(text, allow=HERE), config)


def test_an_optax_optimizer_loads_and_builds_without_allowing_anything():
    config = fdl.Config(
        optax.chain,
        fdl.Config(optax.clip_by_global_norm, 1.0),
        fdl.Config(optax.adamw, fdl.Config(optax.linear_schedule, 0.0, 1.0, 10)),
    )
    again = loads(dumps(config))
    assert equal(again, config)
    assert isinstance(build(again), optax.GradientTransformation)


def test_a_reference_and_what_is_shared_keep_their_meaning():
    node = fdl.Config(Box, a=ref("^top") * 2)
    config = fdl.Config(dict, top=4, x=[node, node], y=(ref("top"), 1))
    built = build(loads(dumps(config), allow=HERE))
    assert built["x"][0] is built["x"][1] and built["x"][0].a == 8
    assert built["y"] == (4, 1)


def test_depth_and_diamonds_cost_their_node_count():
    chain = fdl.Config(Box)
    for _ in range(3000):
        chain = fdl.Config(Box, a=[chain])
    diamond = fdl.Config(Box)
    for _ in range(30):
        diamond = fdl.Config(Box, a=diamond, b=(diamond,))
    for config in (chain, diamond):
        assert equal(loads(dumps(config), allow=HERE), config)
    assert len(dumps(diamond).splitlines()) == 61 + 4


@pytest.mark.parametrize("value", [1, "x", None, Norm.RMS, (), [1], {}])
def test_a_config_may_be_a_plain_value(value):
    assert equal(loads(dumps(value), allow=HERE), value)


def test_tags_are_kept_also_on_what_is_not_set():
    config = fdl.Config(Dynamic)
    fdl.add_tag(config, "a", Rate)
    again = loads(dumps(config), allow=HERE)
    assert fdl.get_tags(again, "a") == {Rate}
    assert "a" not in again.__arguments__


def test_positional_and_variadic_arguments_are_kept():
    config = fdl.Config(collect, 1, 2, 3, mode="y", other=4)
    again = loads(dumps(config), allow=HERE)
    assert build(again) == build(config) == (1, (2, 3), "y", {"other": 4})


def test_jax_activations_survive_as_themselves():
    assert loads(dumps([jax.nn.relu, jnp.tanh])) == [jax.nn.relu, jnp.tanh]


def test_a_dict_config_is_kept_with_its_kind():
    config = dict_config.DictConfig(a=1, b=fdl.Config(Box))
    again = loads(dumps(config), allow=HERE)
    assert type(again) is dict_config.DictConfig and equal(again, config)
