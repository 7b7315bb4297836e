"""A table of leaf and graph shapes, and which of them are refused and why."""

from __future__ import annotations

import collections
import datetime
import decimal
import fractions
import functools
import math
import operator
import pathlib
import re
import types
import typing
import uuid
from collections.abc import Callable
from typing import Any

import fiddle as fdl
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from fiddle import tagging
from fiddle.experimental import dict_config
from jax.sharding import PartitionSpec as P

from fdlkit.graph.references import ref
from tests.codegen import awkward, other_things, things
from tests.codegen.things import Axes, Box, Norm, Pair, Permission, Rate, Width
from tests.graph import shapes as deep_shapes


def leaf(value: Any) -> Callable[[], Any]:
    return lambda: fdl.Config(Box, a=value, b=[value])


LEAVES: dict[str, Any] = {
    "none": None,
    "bools": [True, False],
    "ints": [0, -1, 10**30],
    "huge int": 7**6000,
    "floats": [0.1, -0.0, 1e300, 5e-324],
    "not finite": [math.inf, -math.inf, math.nan],
    "complex": [1j, 1 + 2j, complex(-0.0, 1), complex(math.nan, -math.inf)],
    "text": ["", "a'b\"c", "two\nlines", "\x1b[0m", "é→", "\ud800"],
    "bytes": [b"", b"\x00\xff'"],
    "function": things.scale,
    "builtin": [len, sum],
    "class": [Box, things.Outer.Inner],
    "class method": things.Outer.make,
    "enum": [Norm.RMS, things.Level.HIGH],
    "enum of odd names": list(things.OddNames),
    "flags": [Permission.READ, Permission.READ | Permission.RUN, Permission(0)],
    "dtype": [np.dtype("float32"), np.dtype(jnp.bfloat16), np.dtype(">i4")],
    "scalar types": [np.float32, jnp.bfloat16, np.dtype("datetime64[s]")],
    "numpy scalars": [np.float32(0.1), np.int8(-3), jnp.bfloat16(0.5), np.bool_(True)],
    "numpy array": np.arange(6, dtype=np.int16).reshape(2, 3),
    "empty array": [np.zeros((0, 3), np.float32), np.zeros((0,), np.int8)],
    "bfloat16 array": np.array([0.5, 1.5], jnp.bfloat16),
    "jax array": jnp.array([[0.5, 2.0]], jnp.float32),
    "weak scalar": jnp.asarray(0.5),
    "key": jax.random.key(3),
    "path": [pathlib.Path("a/b"), pathlib.PurePosixPath("c")],
    "range": [range(3), range(1, 9, 2), range(2, 5)],
    "slice": [slice(3), slice(None, 4, 2), slice(1, None)],
    "decimal": [decimal.Decimal("1.50"), fractions.Fraction(1, 3)],
    "times": [
        datetime.timedelta(days=1, seconds=2),
        datetime.datetime(2024, 1, 2, 3, tzinfo=datetime.UTC),
        datetime.date(2024, 1, 2),
    ],
    "uuid": uuid.UUID(int=5),
    "pattern": re.compile("a+", re.IGNORECASE),
    "ellipsis": [..., NotImplemented],
    "module": [jnp, math, things],
    "types": [list[int], dict[str, int], int | None, tuple[int, ...]],
    "typing": [typing.Optional[int], typing.Any, typing.Callable[[int], str]],  # noqa: UP045
    "partial": functools.partial(things.scale, by=3.0),
    "value dataclass": Axes(data=2, names=("a",), inner=Axes()),
    "partition spec": [P("data", None), P(("a", "b")), P()],
    "sets": [{1, 2}, frozenset({"a"}), set(), frozenset(), {(1, "a"), None}],
    "deque": collections.deque([1, 2], maxlen=3),
    "counter": collections.Counter("aab"),
    "bytearray": bytearray(b"ab"),
    "itemgetter": operator.itemgetter(1),
    "ufunc": np.tanh,
    "jax functions": [jax.nn.relu, jnp.tanh, jax.nn.initializers.zeros],
    "initializer": None,
    "namespace": types.SimpleNamespace(a=1),
    "mapping proxy": types.MappingProxyType({"a": 1}),
    "namedtuple": [Pair(1, 2), Pair((1,))],
    "ordered dict": collections.OrderedDict(z=1, a=[2]),
    "default dict": collections.defaultdict(list, {"a": [1]}),
    "keys": {1: "a", "b": 2, (1, "x"): 3, None: 4, Norm.RMS: 5, 1.5: 6, b"k": 7},
    "lambda": lambda x: x * 2,
    "lambda with names": lambda x, *, y=3: jnp.tanh(x) * things.FACTOR + y,
    "closure": things.make_scaler(3),
}
del LEAVES["initializer"]


def _shared() -> Any:
    one = fdl.Config(Box, a=1)
    return fdl.Config(Box, a=one, b=[one, {"k": one}])


def _shared_list() -> Any:
    one: list[Any] = [1]
    return fdl.Config(Box, a=one, b=[one], c=(one,))


def _shared_partial() -> Any:
    one = fdl.Partial(things.scale, by=3.0)
    return fdl.Config(Box, a=one, b=one)


def _shared_array() -> Any:
    one = np.arange(3)
    return fdl.Config(Box, a=one, b=[one])


def _references() -> Any:
    return fdl.Config(
        Box,
        a=fdl.Config(Box, a=ref("b"), b=ref("b") * 2 - 1, c=100 // (ref("b") + 1)),
        b=7,
        c=[ref("a"), ref("a.b"), ref("b")],
    )


def _reference_to_default() -> Any:
    return fdl.Config(Box, a=[ref("b"), ref("c")])


def _tags() -> Any:
    cfg = fdl.Config(Box, a=1, b=fdl.Config(things.Tagged))
    fdl.add_tag(cfg, "a", Rate)
    fdl.add_tag(cfg, "a", Width)
    fdl.add_tag(cfg, "c", Width)
    fdl.add_tag(cfg, "b", Width)
    return cfg


def _removed_tag() -> Any:
    cfg = fdl.Config(things.Tagged, rate=0.5)
    fdl.remove_tag(cfg, "rate", Rate)
    fdl.add_tag(cfg, "width", Width)
    return fdl.Config(Box, a=cfg)


def _tagged_values() -> Any:
    return fdl.Config(
        Box,
        a=[Rate.new(3), tagging.TaggedValue([Rate, Width], default=fdl.Config(Box))],
    )


def _fresh() -> Any:
    return fdl.Partial(
        Box,
        a=fdl.ArgFactory(Box, a=1),
        b=[fdl.ArgFactory(things.Factory), {"k": 1}],
        c=fdl.ArgFactory(Box, a=fdl.ArgFactory(Box), b=fdl.Config(Box)),
    )


def _shared_fresh() -> Any:
    one = fdl.ArgFactory(Box, a=1)
    kept = fdl.Config(Box, a=3)
    return [fdl.Partial(Box, a=[one, one, kept], b=one), kept]


def _collisions() -> Any:
    return fdl.Config(
        Box,
        a=fdl.Config(other_things.Box, z=1),
        b=[things.scale, other_things.scale, things.Box],
    )


def _builtin_names() -> Any:
    one = fdl.Config(Box, a=1)
    inner = fdl.Config(dict, list=one, build=[one], type=2)
    return fdl.Config(dict, id=inner, input=[inner], lambda_=3)


def _awkward_names() -> Any:
    things_ = [v for n, v in vars(awkward).items() if not n.startswith("_")]
    mine = [v for v in things_ if getattr(v, "__module__", "") == awkward.__name__]
    made = [fdl.Config(value, x=1) for value in mine]
    shared = fdl.Config(awkward.build, x=[np.float32(1), P("a"), nn.relu, np.arange(2)])
    root = fdl.Config(
        dict,
        build=shared,
        base=made,
        fdl=[shared, fdl.Partial(awkward.P, x=fdl.ArgFactory(awkward.Fresh))],
        np=ref("a.nn"),
        nn=3,
    )
    return fdl.Config(Box, a=root, b=[root], c=[ref("a.np"), ref("a.nn")])


def _keywords() -> Any:
    cfg = fdl.Config(things.collect, 1, 2, 3, mode="y")
    for name, value in (("class", 4), ("with space", 5), ("plain", 6)):
        setattr(cfg, name, value)
    return cfg


def _spread() -> Any:
    return fdl.Config(things.spread, 1, 3, fdl.Config(Box), 5)


def _nnx() -> Any:
    from flax import nnx

    return fdl.Partial(nnx.Linear, 2, 3, use_bias=False)


def _model() -> Any:
    dense = fdl.Config(nn.Dense, features=4, kernel_init=jax.nn.initializers.ones)
    return fdl.Config(
        Box,
        a=fdl.Config(nn.Sequential, layers=[dense, jax.nn.relu, dense]),
        b=fdl.Config(optax.adamw, learning_rate=1e-3),
        c=fdl.Partial(nn.LayerNorm, epsilon=1e-6),
    )


def _named_tuple_of_nodes() -> Any:
    one = fdl.Config(Box)
    pair = Pair(one, [one])
    return fdl.Config(Box, a=pair, b=pair)


def _large() -> Any:
    def block(n: int) -> Any:
        return fdl.Config(Box, a=fdl.Config(Box, a=n, b="some text"), b=[n] * 30)

    return fdl.Config(
        dict,
        encoder=fdl.Config(Box, a=[block(n) for n in range(9)]),
        size=ref("n"),
        n=4,
        decoder=fdl.Config(Box, a=[block(n) for n in range(9)], b=ref("n") * 2),
    )


GRAPHS: dict[str, Callable[[], Any]] = {
    "config": lambda: fdl.Config(Box),
    "nested": lambda: fdl.Config(
        Box, a=fdl.Config(Box, a=fdl.Config(things.Outer.Inner))
    ),
    "partial": lambda: fdl.Partial(things.scale),
    "partial with arguments": lambda: fdl.Partial(Box, 1, c=fdl.Config(Box)),
    "list at the root": lambda: [fdl.Config(Box), 1],
    "shared node": _shared,
    "shared list": _shared_list,
    "shared partial": _shared_partial,
    "shared array": _shared_array,
    "references": _references,
    "reference to a default": _reference_to_default,
    "tags": _tags,
    "removed tag": _removed_tag,
    "tagged values": _tagged_values,
    "fresh arguments": _fresh,
    "shared fresh arguments": _shared_fresh,
    "two classes of one name": _collisions,
    "names of builtins": _builtin_names,
    "names of what programs use": _awkward_names,
    "keyword-named keys": _keywords,
    "variadic": lambda: fdl.Config(things.collect, 1, 2, [3], other=fdl.Config(Box)),
    "variadic behind names": _spread,
    "positional only": lambda: fdl.Config(things.by_place, 1, fdl.Config(Box)),
    "dict config": lambda: dict_config.DictConfig(a=1, b=fdl.Config(Box)),
    "a config by another name": lambda: things.Plain(Box, a=1),
    "ordered dict of nodes": lambda: fdl.Config(
        Box, a=collections.OrderedDict(z=fdl.Config(Box), a=1)
    ),
    "named tuple of nodes": _named_tuple_of_nodes,
    "default factory": lambda: fdl.Config(things.Factory),
    "lambda that is called": lambda: fdl.Config(lambda x: [x], fdl.Config(Box)),
    "lambda that makes": lambda: fdl.Partial(Box, [fdl.ArgFactory(lambda: [1])]),
    "nnx": _nnx,
    "flax and optax": _model,
    "large": _large,
    "deep": lambda: deep_shapes.deep("nodes", 60),
    "deep lists": lambda: deep_shapes.deep("lists", 60),
    "deep sum": lambda: deep_shapes.deep("sum", 60),
    "hops": lambda: deep_shapes.deep("hops", 40),
    "diamond": lambda: deep_shapes.diamond("nodes", 20),
    "diamond of tuples": lambda: deep_shapes.diamond("leaf_tuples", 20),
    "diamond of sums": lambda: deep_shapes.diamond("sum", 20),
    "deep factories": lambda: deep_shapes.deep("factories", 30),
    # Refused, by one style or both.
    "built module": leaf(nn.Dense(3)),
    "built optimizer": leaf(optax.sgd(0.1)),
    "large array": leaf(np.zeros((9, 9))),
    "object without a notation": leaf(object()),
    "bound method": leaf(Box(1).__eq__),
    "own way to build": lambda: things.Custom(Box),
    "factory in a config": lambda: fdl.Config(Box, a=fdl.ArgFactory(Box)),
    "missing argument": lambda: fdl.Config(things.scale),
    "local class": lambda: fdl.Config(_local_class()),
    "broken reference": lambda: fdl.Config(Box, a=ref("nothing")),
}


def _local_class() -> Any:
    class Local:
        pass

    return Local


SHAPES: dict[str, Callable[[], Any]] = {
    **{f"leaf: {name}": leaf(value) for name, value in LEAVES.items()},
    **GRAPHS,
}

# What is refused, and a word of the reason; where a style is not here, it is right.
REFUSED: dict[tuple[str, str], str] = {
    ("built module", "build"): "fdl.Config(",
    ("built module", "fiddle"): "fdl.Config(",
    ("built optimizer", "build"): "fdl.Config(",
    ("built optimizer", "fiddle"): "fdl.Config(",
    ("large array", "build"): "fdl.Config(",
    ("large array", "fiddle"): "fdl.Config(",
    ("object without a notation", "build"): "fdl.Config(make_it)",
    ("object without a notation", "fiddle"): "fdl.Config(make_it)",
    ("bound method", "build"): "where it is called",
    ("bound method", "fiddle"): "where it is called",
    ("own way to build", "build"): "use fdl.Config",
    ("factory in a config", "build"): "use fdl.Config",
    ("missing argument", "build"): "--fdl_set=PATH=VALUE",
    ("local class", "build"): "top level of a module",
    ("local class", "fiddle"): "top level of a module",
    ("broken reference", "build"): "nothing",
}

# Two such values are equal for Python only if they are one object; their descriptions
# are compared all the same.
ONLY_ITSELF = {
    f"leaf: {name}" for name in ("itemgetter", "lambda", "closure", "partial")
}
ONLY_ITSELF |= {"leaf: lambda with names", "lambda that is called", "lambda that makes"}
