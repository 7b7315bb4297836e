"""A built object is no value of a config; what says all of itself is."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import pathlib
import random
import re
import uuid
from typing import Any, NamedTuple

import fiddle as fdl
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx
from jax.sharding import PartitionSpec

from experiments import lm
from fdlkit.errors import UserError
from fdlkit.graph.build import build
from fdlkit.graph.built import MAX_ELEMENTS, find_built
from fdlkit.graph.hidden_configs import find_hidden
from fdlkit.graph.mutated_defaults import find_mutated_defaults
from fdlkit.graph.paths import format as spell
from fdlkit.graph.snapshot import snapshot
from fdlkit.graph.unknown_names import find_unknown_names
from fdlkit.serialize.reading import read
from fdlkit.serialize.writing import dumps
from fdlkit.view.tree import render, tree


@dataclasses.dataclass
class Box:
    a: Any = None


@dataclasses.dataclass(frozen=True)
class Axes:
    data: int = -1
    names: tuple[str, ...] = ()


class Norm(enum.Enum):
    RMS = "rms"

    def upper(self):
        return self.value.upper()


class Flags(enum.Flag):
    A = 1
    B = 2


class Pair(NamedTuple):
    left: Any
    right: Any


class Net(nnx.Module):
    def __init__(self, width: int = 1):
        self.width = width

    def apply(self):
        return self.width


class Maker:
    @classmethod
    def make(cls):
        return cls()

    @staticmethod
    def help():
        return 1


LEGIT = [
    None, 0, 1.5, 1j, "text", b"bytes", Norm.RMS, Flags.A | Flags.B,
    jnp.bfloat16, jnp.dtype("float32"), np.dtype([("x", "int8")]), np.float32(1.5),
    PartitionSpec("data", None), jax.lax.Precision.HIGHEST, Axes(data=2),
    jax.sharding.Mesh(np.array(jax.devices()[:1]), ("data",)),
    jax.sharding.AbstractMesh((4,), ("data",)), jax.ShapeDtypeStruct((2,), jnp.float32),
    np.zeros(MAX_ELEMENTS), jnp.ones(3), np.array(3), jax.random.key(0),
    jax.nn.relu, nn.gelu, jnp.tanh, np.add, len, functools.partial(jax.nn.gelu),
    lambda x: x, nn.Dense, nnx.Linear, optax.adam, Maker.make, Maker.help,
    dict.fromkeys, optax.constant_schedule(0.1), nn.initializers.lecun_normal(),
    random.random, np.random.normal, pathlib.Path("a"), re.compile("a"),
    datetime.timedelta(1), decimal.Decimal(1), fractions.Fraction(1, 2),
    uuid.UUID(int=1), range(3), slice(1, 2),
    Pair(1, 2), (1, (2,)), [1], {"a": 1}, {1}, frozenset({1}), ..., NotImplemented,
    collections.OrderedDict(a=1), collections.defaultdict(list),
    collections.Counter("a"), collections.deque([1]), jax.jit(lambda x: x),
]  # fmt: skip


@pytest.mark.parametrize("value", LEGIT, ids=lambda v: type(v).__name__)
def test_a_value_that_says_all_of_itself_is_none(value):
    config = fdl.Config(Box, a=value)
    assert not find_built(snapshot(config))
    built = build(config).a
    if not isinstance(value, list | dict | tuple):
        assert built is value
    else:
        assert built == value and type(built) is type(value)


SHIPPED = [lm.base, lm.tiny, lm.tied]


@pytest.mark.parametrize("experiment", SHIPPED, ids=lambda e: e.__name__)
def test_shipped_experiments_have_no_traps(experiment):
    graph = snapshot(experiment())
    assert not find_built(graph) and not find_hidden(graph)
    assert not find_unknown_names(graph) and not find_mutated_defaults(graph)


BUILT = [
    (nn.Dense(3), "a Flax module", "fdl.Config(flax.linen.Dense, features=3)"),
    (nn.LayerNorm(), "a Flax module", "fdl.Config(flax.linen.LayerNorm)"),
    (Net(3), "an NNX module", f"fdl.Config({__name__}.Net, ...)"),
    (nnx.Rngs(0), "an NNX object", "fdl.Config(flax.nnx.Rngs, ...)"),
    (nnx.Param(jnp.zeros(3)), "an NNX variable", "fdl.Config(flax.nnx.Param, ...)"),
    (
        optax.adam(0.1), "an Optax transformation",
        "fdl.Config(...) of what made it, such as fdl.Config(optax.adamw, ...)",
    ),
    (
        optax.clip_by_global_norm(1.0), "an Optax transformation",
        "fdl.Config(optax.clip_by_global_norm, ...)",
    ),
    (
        optax.MultiSteps(optax.sgd(0.1), 2), "an Optax transformation",
        "fdl.Config(optax.MultiSteps, ...)",
    ),
    (
        Net(3).apply, "a bound method of a Net",
        f"fdl.Config({__name__}.Net, ...), and take its .apply where it is called",
    ),
    (
        {}.get, "a bound method of a dict",
        "fdl.Config(builtins.dict, ...), and take its .get where it is called",
    ),
    (
        np.zeros((5, 13)), "an array of 65 elements",
        "fdl.Config(FUNCTION, ...) of what computes or loads it",
    ),
    (
        jnp.zeros(1000), "an array of 1000 elements",
        "fdl.Config(FUNCTION, ...) of what computes or loads it",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "what", "instead"), BUILT, ids=lambda v: type(v).__name__
)
def test_a_built_object_is_refused_with_its_path_and_what_to_write(
    value, what, instead
):
    config = fdl.Config(Box, a=[{"x": value}])
    (found,) = find_built(snapshot(config))
    assert spell(found.path) == "a[0]['x']"
    assert (found.what, found.instead) == (what, instead)
    for refuse in (build, dumps):
        with pytest.raises(UserError) as refused:
            refuse(config)
        lines = "\n".join(refused.value.lines)
        assert f"  a[0]['x']: {what} (" in lines
        assert f"    write {instead}" in lines


@pytest.mark.parametrize("value", [nn.Dense(3), optax.adam(0.1), np.zeros(99)])
def test_it_is_shown_and_marked(value):
    text = render(tree(snapshot(fdl.Config(Box, a=value))))
    assert text.count("\n") == 2
    assert text.endswith("  (a built object)\n")
    alone = render(tree(snapshot(value)))
    assert alone.endswith("  (a built object)\n") and alone.count("\n") == 1


def test_every_built_object_is_told_with_who_wrote_it():
    shared = optax.adam(0.1)
    config = fdl.Config(dict, x=shared, y=[shared, nn.Dense(1)])
    with pytest.raises(UserError) as refused:
        build(config)
    lines = refused.value.lines
    assert lines[0] == "2 built objects are in this config"
    assert lines[1].startswith("  x: an Optax transformation (optax.Gradient")
    assert "test_built.py:" in lines[1]
    assert lines[3] == "  y[1]: a Flax module (flax.linen.Dense)"


def test_a_built_root_is_refused():
    with pytest.raises(UserError, match="<root>: a Flax module"):
        build(nn.Dense(3))
    with pytest.raises(UserError, match="<root>: an Optax transformation"):
        build([optax.adam(0.1)][0])


def test_defaults_may_be_built_objects():
    @dataclasses.dataclass
    class Local:
        norm: Any = nn.LayerNorm()

    assert isinstance(build(fdl.Config(Local)).norm, nn.LayerNorm)


def test_nothing_is_found_in_a_graph_that_was_read():
    assert find_built(read(dumps(fdl.Config(optax.adam, 0.1)))) == ()
