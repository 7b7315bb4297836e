"""Each kind of leaf comes back as it was, and says the same on both sides of a file."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import json
import pathlib
from typing import Any, ClassVar

import fiddle as fdl
import flax.linen as nn
import hypothesis
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import optax
import pytest
from jax.sharding import PartitionSpec as P

from fdlkit.diff.compare import diff
from fdlkit.diff.text import render
from fdlkit.errors import UserError
from fdlkit.graph.build import build
from fdlkit.graph.equality import equal
from fdlkit.graph.model import Leaf
from fdlkit.graph.references import ref
from fdlkit.graph.snapshot import snapshot
from fdlkit.graph.texts import leaf
from fdlkit.serialize.loading import loads
from fdlkit.serialize.reading import read
from fdlkit.serialize.writing import dumps
from fdlkit.view.tree import render as render_tree
from fdlkit.view.tree import tree
from tests.graph.configs import Box
from tests.graph.values import (
    VALUES,
    Axes,
    Modes,
    Point,
    Settings,
    Sides,
    Slotted,
    gather,
)

HERE = ["tests.graph.configs", "tests.graph.values"]
UTC = datetime.UTC

# What is kept, and how it shows.
KEPT = [
    (pathlib.Path("runs/a"), "Path('runs/a')"),
    (pathlib.PurePosixPath("/x"), "PurePosixPath('/x')"),
    (pathlib.PureWindowsPath(r"c:\x"), "PureWindowsPath('c:/x')"),
    (range(3), "range(0, 3)"),
    (range(9, 0, -3), "range(9, 0, -3)"),
    (slice(1, None), "slice(1, None, None)"),
    (..., "..."),
    (1 - 2j, "(1-2j)"),
    (decimal.Decimal("0.10"), "Decimal('0.10')"),
    (fractions.Fraction(-1, 3), "Fraction(-1, 3)"),
    (datetime.timedelta(days=1, microseconds=5), "timedelta(days=1, microseconds=5)"),
    (datetime.date(2024, 2, 29), "date(2024, 2, 29)"),
    (datetime.time(12, fold=1), "time(12, 0, 0, 0, fold=1)"),
    (
        datetime.datetime(2024, 1, 2, 3, tzinfo=UTC),
        "datetime(2024, 1, 2, 3, 0, 0, 0, tzinfo=timezone(timedelta()))",
    ),
    (Sides.LEFT | Sides.TOP, "Sides.LEFT|TOP"),
    (Sides.LEFT | Sides.RIGHT, "Sides.BOTH"),
    (Sides(24), "Sides.24"),
    (Modes(0), "Modes.0"),
    (Modes.READ | Modes(8), "Modes.READ|8"),
    (functools.partial(nn.gelu, approximate=False), "partial(gelu, approximate=False)"),
    (functools.partial(gather, [1], {"k": (2,)}), "partial(gather, [1], {'k': (2,)})"),
    (Axes(2, ("a", 1.5)), "Axes(data=2, names=('a', 1.5), more=None)"),
    (Settings(Axes(), {1: {2}}), "Settings(rate=Axes(data=-1, names=(), more=None), "
        "table={1: {2}}, count=3)"),
    (Slotted(frozenset({"b", "a"})), "Slotted(x=frozenset({'a', 'b'}))"),
    (Slotted(Point(1)), "Slotted(x=Point(x=1, y=0))"),
    (P("data", None, ("a", "b")), "P('data', None, ('a', 'b'))"),
    (P(P.UNCONSTRAINED, "x"), "P(P.UNCONSTRAINED, 'x')"),
    (np.dtype("int8"), "dtype(int8)"),
    (jnp.dtype(jnp.bfloat16), "dtype(bfloat16)"),
    (np.dtype(">f4"), "dtype(>f4)"),
    (np.dtype("<U5"), "dtype(<U5)"),
    (np.dtype("datetime64[ms]"), "dtype(<M8[ms])"),
    (jnp.bfloat16, "bfloat16"),
    (jnp.tanh, "tanh"),
    (jax.nn.relu, "relu"),
    (jax.checkpoint_policies.nothing_saveable, "nothing_saveable"),
    (np.float32(0.1), "float32(0.1)"),
    (np.bool_(True), "bool(True)"),
    (ml_dtypes.float8_e4m3fn(0.5), "float8_e4m3fn(0x30)"),
    (np.array([[1, 2], [3, 4]]), "array([[1, 2], [3, 4]], int64)"),
    (np.array([0.1, -0.0, np.inf], np.float16), "array([0.1, -0.0, inf], float16)"),
    (np.array([1.5 - 2j]), "array([(1.5-2.0j)], complex128)"),
    (np.array(["ab", "c"]), "array(['ab', 'c'], <U2)"),
    (np.array([1, 2], ">u2"), "array([1, 2], >u2)"),
    (np.zeros((2, 0)), "array(shape=(2, 0), float64)"),
    (np.asfortranarray(np.eye(2, 3)), "array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], "
        "float64)"),
    (jnp.array([0.1, 3.0], jnp.bfloat16), "jnp.array([0.1, 3.0], bfloat16)"),
    (jnp.array(2.0), "jnp.array(2.0, float32, weak_type=True)"),
    (jax.random.PRNGKey(0), "jnp.array([0, 0], uint32)"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "text"), KEPT, ids=lambda v: str(v)[:30])
def test_a_value_is_kept_and_shown_the_same_without_being_made(value, text):
    config = fdl.Config(Box, a=value)
    written = dumps(config)
    graph = read(written)
    for root in (snapshot(config), graph):
        (argument,) = [a for a in root.nodes[-1].arguments if a.key == "a"]
        assert isinstance(argument.value, Leaf)
        assert leaf(argument.value) == text
    again = loads(written, allow=HERE)
    assert equal(again, config) and equal(graph, config)
    assert type(again.a) is type(value)
    assert dumps(again) == written == dumps(graph)
    if not isinstance(value, np.ndarray | jax.Array | functools.partial):
        assert again.a == value
    assert build(config).a is value


@hypothesis.given(VALUES, VALUES)
def test_two_values_are_equal_exactly_if_their_texts_of_json_are(a, b):
    one, two = fdl.Config(Box, a=a), fdl.Config(Box, a=b)
    assert equal(one, two) == (dumps(one) == dumps(two))


def test_arrays_come_back_to_the_bit():
    nan = np.frombuffer(bytes.fromhex("010000000000f87f"), np.float64).copy()
    assert loads(dumps([nan]))[0].tobytes() == nan.tobytes()
    for array in (np.arange(6, dtype=">i4").reshape(2, 3), np.array(["", "a"])):
        again = loads(dumps([array]))[0]
        assert again.dtype == array.dtype and again.shape == array.shape
        assert again.tobytes() == array.tobytes() and again.flags.writeable
    weak = loads(dumps([jnp.array(1.0)]))[0]
    assert weak.weak_type and (weak + jnp.bfloat16(1)).dtype == jnp.bfloat16


def test_what_can_be_changed_is_a_new_one_at_every_place():
    text = dumps({"a": Settings(table={1: 2}), "b": Settings(table={1: 2})})
    again = loads(text, allow=HERE)
    again["a"].table[3] = 4
    assert again["b"].table == {1: 2}
    assert loads(text, allow=HERE)["a"].table == {1: 2}


def test_a_dataclass_is_given_back_as_it_was_without_running_its_code():
    changed = Settings(1)
    changed.count = 7
    assert loads(dumps([changed]), allow=HERE)[0].count == 7
    assert loads(dumps([Loud(3)]), allow=[__name__])[0].x == 3
    assert Loud.made == 1


def test_a_loaded_partial_can_be_called():
    again = loads(dumps([functools.partial(jax.nn.gelu, approximate=False)]))[0]
    assert again(1.0) == jax.nn.gelu(1.0, approximate=False)


def test_values_are_keys_and_elements_in_an_order_that_all_processes_share():
    keys = {pathlib.Path("b"): 1, Sides(5): 2, decimal.Decimal(1): 3, (1, "a"): 4}
    elements = {pathlib.Path(c) for c in "dcba"} | {Axes(n) for n in range(4)}
    again = loads(dumps([keys, elements]), allow=HERE)
    assert again == [keys, elements]
    text = dumps([elements])
    assert [text.index(f'["{c}"]') for c in "abcd"] == sorted(
        text.index(f'["{c}"]') for c in "abcd"
    )


def test_changes_of_such_values_read_well():
    a = {"x": pathlib.Path("a"), "y": np.array([1.0]), "z": P("data"), "w": range(3)}
    b = {"x": pathlib.Path("b"), "y": np.array([2.0]), "z": P(None), "w": range(4)}
    text = render(diff(fdl.Config(dict, **a), fdl.Config(dict, **b)))
    assert text == (
        "<root> (builtins.dict)\n"
        "  ~ x: Path('a') → Path('b')\n"
        "  ~ y: array([1.0], float64) → array([2.0], float64)\n"
        "  ~ z: P('data') → P(None)\n"
        "  ~ w: range(0, 3) → range(0, 4)\n"
    )
    read_again = read(dumps(fdl.Config(dict, **b)))
    assert render(diff(fdl.Config(dict, **a), read_again)) == text


def test_the_tree_shows_them_on_their_line():
    config = fdl.Config(Box, a=pathlib.Path("x"), b=functools.partial(nn.gelu))
    text = render_tree(tree(snapshot(config)))
    assert "a = Path('x')" in text and "b = partial(gelu)" in text


def test_a_reference_to_one_shows_what_it_shows_itself():
    a = fdl.Config(dict, out=pathlib.Path("x"), act=nn.gelu, b=[ref("out"), ref("act")])
    text = render_tree(tree(snapshot(a)))
    assert "ref(out) = Path('x')" in text and "ref(act) = gelu" in text
    b = fdl.Config(dict, out=pathlib.Path("x"), act=nn.gelu, b=[1, 2])
    assert "ref(act) = gelu" in render(diff(a, b))


def test_a_field_that_the_class_has_got_since_is_given_its_default():
    text = dumps([Axes(2)]).replace(', "more": null', "")
    assert loads(text, allow=HERE) == [Axes(2)]


def test_jax_arrays_of_64_bits_are_refused_where_jax_has_none():
    text = dumps([np.array([1.0])]).replace('"numpy"', '"jax"')
    with pytest.raises(UserError) as refused:
        loads(text)
    assert refused.value.lines[1] == (
        "  [0]: a JAX array of float64 becomes float32 here; jax_enable_x64 is off"
    )


class Wrong(enum.Enum):
    A = 1


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"value": "datetime:date", "positional": [2024, 2, 30]}, "datetime.date"),
        ({"value": "fractions:Fraction", "positional": ["1e99999"]}, "two ints"),
        ({"value": "fractions:Fraction", "positional": [1, 0]}, "fractions.Fraction"),
        ({"value": "decimal:Decimal", "positional": ["x"]}, "decimal.Decimal"),
        ({"value": "builtins:slice", "positional": []}, "builtins.slice"),
        ({"value": "functools:partial", "positional": [1]}, "nothing that has a name"),
        ({"value": f"{__name__}:Wrong"}, "is no dataclass or NamedTuple"),
        ({"value": "optax:adam"}, "optax.adam is no dataclass"),
        ({"value": "flax.linen:Dense", "arguments": {"features": 3}}, "no dataclass"),
        ({"array": "jax", "dtype": "<f3", "shape": [0], "data": ""}, "no dtype '<f3'"),
        ({"dtype": "object"}, "no dtype 'object'"),
    ],
)
def test_a_value_that_cannot_be_made_is_told_with_its_path(value: Any, said: str):
    text = dumps({"k": [1]}).replace("[1]", _json([value]))
    with pytest.raises(UserError) as refused:
        loads(text, allow=[__name__])
    assert refused.value.lines[1].startswith("  ['k'][0]: ")
    assert said in refused.value.lines[1]


def test_what_is_unhashable_is_told_where_it_is_a_key_or_an_element():
    unhashable = {"array": "numpy", "dtype": "int8", "shape": [1], "data": "AA=="}
    for node, path in (
        ({"kind": "set", "elements": [unhashable]}, "[0]"),
        ({"kind": "dict", "items": [[unhashable, 1]]}, "[numpy.int8[1](0x00)]"),
    ):
        head = '{"schema": "fdlkit.config/1", "root": {"node": 0}, "nodes": ['
        with pytest.raises(UserError) as refused:
            loads(head + _json(node) + "]}")
        assert refused.value.lines[1].startswith(f"  {path}")
        assert refused.value.lines[1].endswith("array([0], int8) cannot be hashed")


def test_nothing_else_has_changed_its_kind():
    for value in (
        collections.OrderedDict(a=1), collections.defaultdict(list), Point(1, 2), (1,)
    ):  # fmt: skip
        assert type(loads(dumps(value), allow=HERE)) is type(value)
    assert isinstance(build(loads(dumps(fdl.Config(optax.adam, 1.0)))), tuple)


@dataclasses.dataclass
class Loud:
    """Counts how often it was made."""

    x: int
    made: ClassVar[int] = 0

    def __post_init__(self):
        type(self).made += 1


def _json(data: Any) -> str:
    return json.dumps(data)
