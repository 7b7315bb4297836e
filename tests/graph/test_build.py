"""Building is Fiddle's building: same objects, same sharing, same partials."""

from __future__ import annotations

import collections
import dataclasses
import functools
from typing import Any, NamedTuple

import fiddle as fdl
import hypothesis
import pytest
from fiddle import arg_factory, tagging

from fdlkit.errors import UserError
from fdlkit.graph import fiddle_internals
from fdlkit.graph.build import BuildError, build
from fdlkit.graph.origins import written_by
from fdlkit.graph.references import ref
from fdlkit.graph.restore import restore
from fdlkit.graph.snapshot import snapshot
from tests.graph import configs


@dataclasses.dataclass
class Box:
    a: Any = None
    b: Any = None


@dataclasses.dataclass(frozen=True)
class Layer:
    width: int
    rate: float = 0.1
    inner: Any = None

    def __post_init__(self):
        if self.width < 0:
            raise ValueError(f"width={self.width} is negative")


class Pair(NamedTuple):
    left: Any
    right: Any


class Rate(fdl.Tag):
    """A rate."""


def positional(first, second, /, third, *rest, **named):
    return first, second, third, rest, named


def count(counter=[0]):  # noqa: B006 - it is to remember
    counter[0] += 1
    return counter[0]


def collect(*items, **named):
    return items, named


def test_nodes_and_mutable_containers_used_twice_are_built_once():
    layer, widths = fdl.Config(Layer, 3), [1, 2]
    built = build(
        fdl.Config(Box, a=[layer, layer, widths], b={"k": layer, "w": widths})
    )
    assert built.a[0] is built.a[1] is built.b["k"]
    assert built.a[2] is built.b["w"] and built.a[2] is not widths
    assert built.a[0] == Layer(3)


def test_two_equal_nodes_are_two_objects():
    built = build([fdl.Config(Box, a=1), fdl.Config(Box, a=1)])
    assert built[0] == built[1] and built[0] is not built[1]


@pytest.mark.parametrize(
    "value",
    [
        [1, (2, [3])],
        {"a": 1, 2: "b", None: (), (1, 2): 3},
        Pair(1, [2]),
        {1, 2},
        frozenset({"x"}),
        collections.defaultdict(list, {"a": 1}),
        b"bytes",
        (),
        0,
        0.0,
        False,
        "",
        None,
    ],
)
def test_every_value_reaches_the_constructor_as_it_is(value):
    built = build(fdl.Config(Box, a=value))
    assert built.a == value and type(built.a) is type(value)


def test_a_config_in_an_ordered_dict_is_built():
    inside = collections.OrderedDict(first=fdl.Config(Layer, 1), second=2)
    built = build(fdl.Config(Box, a=inside))
    assert list(built.a.items()) == [("first", Layer(1)), ("second", 2)]
    assert type(built.a) is collections.OrderedDict


def test_positional_variadic_and_keyword_arguments_go_where_fiddle_puts_them():
    config = fdl.Config(positional, 1, 2, 3, 4, fdl.Config(Layer, 5), six=6)
    assert build(config) == (1, 2, 3, (4, Layer(5)), {"six": 6}) == fdl.build(config)


def test_an_arg_factory_makes_a_new_object_at_each_call():
    config = fdl.Partial(
        collect,
        x=fdl.ArgFactory(Box, a=fdl.ArgFactory(count)),
        y=[fdl.ArgFactory(Box), fdl.Config(Box)],
        z=fdl.Config(Box),
    )
    called = build(config)
    _, one = called()
    _, two = called()
    assert one["x"] is not two["x"] and one["x"].a + 1 == two["x"].a
    assert one["y"][0] is not two["y"][0] and one["y"][1] is two["y"][1]
    assert one["z"] is two["z"]


def test_factories_by_position_are_called_as_fiddle_calls_them():
    config = fdl.Partial(
        collect,
        fdl.ArgFactory(list),
        5,
        [fdl.ArgFactory(dict), 6],
        y=1,
        z=fdl.ArgFactory(Box, a=fdl.ArgFactory(list)),
    )
    ours, theirs = build(config), fdl.build(config)
    assert ours(7, y=2) == theirs(7, y=2)
    assert ours() == (([], 5, [{}, 6]), {"z": Box([]), "y": 1}) == theirs()
    assert list(ours()[1]) == list(theirs()[1])
    assert arg_factory.is_arg_factory_partial(ours)


def test_a_partial_without_factories_is_a_plain_functools_partial():
    built = build(fdl.Partial(Layer, width=3))
    assert isinstance(built, functools.partial) and built.func is Layer
    assert built(rate=0.5) == Layer(3, 0.5)


def test_a_tagged_value_builds_to_its_value():
    config = [tagging.TaggedValue(tags=[Rate], default=0.5)]
    assert build(config) == [0.5] == fdl.build(config)


def test_all_missing_arguments_are_listed_before_anything_is_built():
    made = []

    def make(x):
        made.append(x)

    config = fdl.Config(
        Box,
        a=[fdl.Config(make, 1), fdl.Config(Layer)],
        b={"k": fdl.Config(Layer, rate=1.0), "t": tagging.TaggedValue(tags=[Rate])},
    )
    with pytest.raises(UserError) as refused:
        build(config)
    assert refused.value.lines == (
        "3 required arguments are not set",
        f"  a[1].width: int ({__name__}.Layer)",
        f"  b['k'].width: int ({__name__}.Layer)",
        "  b['t'] #Rate (a tagged value that nothing has filled)",
        "set them in the config, or with --fdl_set=PATH=VALUE",
    )
    assert made == []


def test_a_partial_may_miss_arguments():
    assert build(fdl.Partial(Layer))(7) == Layer(7)


def test_what_a_constructor_says_comes_with_path_arguments_and_their_origin():
    config = fdl.Config(Box, a=[fdl.Config(Layer, ref("b"), inner=fdl.Config(Box))])
    with written_by("--fdl_set"):
        config.b = -250
    with pytest.raises(BuildError) as failed:
        build(config)
    first, said, arguments = failed.value.lines
    assert first == f"cannot build a[0] ({__name__}.Layer)"
    assert said == "  ValueError: width=-250 is negative"
    assert arguments.startswith(
        "  arguments: width=-250 (ref b, from --fdl_set), inner="
    )
    assert "inner=Box(...) (" in arguments and "test_build.py:" in arguments
    assert isinstance(failed.value.__cause__, ValueError)
    assert failed.value.path == "a[0]"


def test_a_long_message_is_cut():
    def fail(**kwargs):
        raise RuntimeError("\n".join(f"line {n}" for n in range(40)))

    config = fdl.Config(fail, **{f"a{n}": "x" * 99 for n in range(40)})
    with pytest.raises(BuildError) as failed:
        build(config)
    assert len(failed.value.lines) <= 12
    assert failed.value.lines[-2] == "  ..."
    assert "xxx…" in failed.value.lines[-1]
    assert failed.value.lines[-1].endswith("and 32 more")


def test_a_build_inside_a_build_is_refused_as_fiddle_does():
    def nested():
        return fdl.build(fdl.Config(Box))

    with pytest.raises(BuildError, match="forbidden to call"):
        build(fdl.Config(nested))
    assert build(fdl.Config(Box)) == Box()  # and the mark is taken back


def test_a_config_that_holds_itself_is_refused():
    items: list[Any] = [1]
    items.append(fdl.Config(Box, a={"x": items}))
    with pytest.raises(UserError, match=r"contains itself.*\[1\]\.a\['x'\]"):
        build(items)


def test_depth_and_diamonds_cost_their_node_count():
    chain = fdl.Config(Box)
    for _ in range(3000):
        chain = fdl.Config(Box, a=[chain])
    built, depth = build(chain), 0
    while built.a is not None:
        built, depth = built.a[0], depth + 1
    assert depth == 3000

    nested: list[Any] = []
    for _ in range(3000):
        nested = [nested]
    assert build(fdl.Partial(Box, a=nested))().a[0][0] is not nested[0][0]

    diamond = fdl.Config(Box)
    for _ in range(30):
        diamond = fdl.Config(Box, a=diamond, b=(diamond,))
    built, depth = build(diamond), 0
    while built.a is not None:
        assert built.a is built.b[0]
        built, depth = built.a, depth + 1
    assert depth == 30


def _picture(value, seen):
    """What a built value looks like, with its sharing, for comparison."""
    # What Fiddle makes of an argument with factories in it is of a class of its own.
    inner = getattr(value, "func", None)
    if getattr(inner, "__name__", "") == "_invoke_arg_factories":
        return "container", _picture(value.args[0], seen)
    if hasattr(value, "pattern"):
        return "container", _picture(value.pattern, seen)
    if isinstance(value, Box | list | dict | functools.partial) or callable(value):
        if id(value) in seen:
            return seen[id(value)]
        seen[id(value)] = len(seen)
    kind = type(value).__name__
    if isinstance(value, fiddle_internals.InvokesFactories):
        return "invokes", _picture(value.func, seen)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        held = [getattr(value, field.name) for field in dataclasses.fields(value)]
        return kind, [_picture(v, seen) for v in held]
    if isinstance(value, functools.partial):
        inside = _picture((value.func, value.args, value.keywords), seen)
        return kind, inside
    if isinstance(value, list | tuple):
        return kind, [_picture(v, seen) for v in value]
    if isinstance(value, dict):
        return kind, [(repr(k), _picture(v, seen)) for k, v in value.items()]
    if isinstance(value, set | frozenset):
        return kind, sorted(map(repr, value))
    if hasattr(value, "factory"):
        return kind, _picture(value.factory, seen)
    return kind, repr(value)


@hypothesis.given(configs.configs(references=False, ordered=False))
def test_random_configs_build_to_what_fiddle_builds(config):
    assert _picture(build(config), {}) == _picture(fdl.build(config), {})


@hypothesis.given(configs.configs())
def test_a_restored_config_builds_to_the_same(config):
    again = restore(snapshot(config))
    assert _picture(build(again), {}) == _picture(build(config), {})
