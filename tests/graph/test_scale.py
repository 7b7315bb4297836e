"""A thousand levels, and diamonds with a thousand million paths, cost their nodes."""

from __future__ import annotations

import signal
import sys

import fiddle as fdl
import pytest
from fiddle import arg_factory

from fdlkit.errors import UserError
from fdlkit.graph.build import BuildError, build
from fdlkit.graph.copying import copy
from fdlkit.graph.equality import differences, equal, flat
from fdlkit.graph.model import Link
from fdlkit.graph.places import Places
from fdlkit.graph.references import ref
from fdlkit.graph.resolve import resolved_value
from fdlkit.graph.restore import restore
from fdlkit.graph.snapshot import snapshot
from fdlkit.overrides.apply import Override, apply
from fdlkit.serialize.loading import loads
from fdlkit.serialize.reading import read
from fdlkit.serialize.writing import dumps
from fdlkit.view.tree import render, tree
from tests.graph import shapes
from tests.graph.shapes import Box, Crate, Root

MODULE = sys.modules[shapes.__name__]

SHAPES = [
    pytest.param(make, kind, id=f"{make.__name__} {kind}")
    for make, kinds in ((shapes.deep, shapes.DEEP), (shapes.diamond, shapes.DIAMONDS))
    for kind in kinds
]


@pytest.fixture(autouse=True)
def runaways_fail():
    """What would take for ever fails after a minute; nothing here takes seconds."""

    def stop(signum, frame):
        raise KeyboardInterrupt("a runaway")  # which no one takes for a mistake

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(("make", "kind"), SHAPES)
def test_a_graph_has_a_node_for_each_and_leads_back(make, kind):
    config = make(kind)
    graph = snapshot(config)
    assert len(graph.nodes) < 5000
    again = restore(graph)
    # Pytest would write out a config that an assertion holds: for ever, of a diamond.
    same = (
        equal(again, config),
        equal(graph, copy(config)),
        equal(graph, make(kind, 29)),
    )
    assert same == (True, True, False)
    lines = len(flat(graph))
    assert lines < 15_000
    told = differences(config, again)
    assert told == []


@pytest.mark.parametrize(("make", "kind"), SHAPES)
def test_json_has_a_line_for_each_and_leads_back(make, kind):
    config = make(kind)
    text = dumps(config)
    assert text.count("\n") < 5000
    is_same = equal(read(text), config)
    is_same_text = dumps(loads(text, allow=[shapes.__name__])) == text
    assert is_same and is_same_text


@pytest.mark.parametrize(("make", "kind"), SHAPES)
def test_the_tree_shows_each_once(make, kind):
    config = make(kind)
    rows = tree(snapshot(config), defaults=False)
    assert len(rows) < 5000
    assert render(rows, width=80).count("\n") == len(rows)
    counts = [
        len(tree(snapshot(config), depth=1, defaults=False)),
        len(tree(read(dumps(config)))),
    ]
    assert counts == [3, len(rows)]


@pytest.mark.parametrize(("make", "kind"), SHAPES)
def test_it_is_built(make, kind):
    kind_built = type(build(make(kind)))
    assert kind_built is Root


@pytest.mark.parametrize(("make", "kind"), SHAPES)
def test_overrides_reach_all_of_it(make, kind):
    config = make(kind)
    graph = snapshot(config)
    for text in ("set x=1", "set **.x=5", "tag Deepest=3", "fiddler touch"):
        change, _, text = text.partition(" ")
        changed, notes = apply(config, [Override(change, text)], MODULE)
        assert max(map(len, notes), default=0) < 3000
        is_changed = not equal(changed, graph)
        assert is_changed
    is_untouched = equal(config, graph)
    assert is_untouched


def test_a_path_of_a_thousand_keys_sets_the_last_of_them():
    path = "cfg" + ".a" * 1000
    changed, _ = apply(shapes.deep("nodes"), [Override("set", f"{path}.x=3")], None)
    assert [d.path for d in differences(shapes.deep("nodes"), changed)] == [f"{path}.x"]
    swapped, notes = apply(changed, [Override("set", f"{path}=Crate")], MODULE)
    assert notes == ()
    told = {d.path: d.new for d in differences(changed, swapped)}
    assert told[path] == f"{shapes.__name__}.Crate"


def test_what_is_said_of_a_deep_place_is_short():
    path = "cfg" + ".a" * 1000
    for text in (f"{path}.x=no", f"{path}.y=1", f"{path}.x.y=1", "**.nothing=1"):
        with pytest.raises(UserError) as refused:
            apply(shapes.deep("nodes"), [Override("set", text)], None)
        assert max(map(len, refused.value.lines)) < 500


def test_through_a_thousand_references_comes_one_value():
    assert build(shapes.deep("hops")).cfg["a0"] == 7
    assert resolved_value(shapes.deep("hops"), ("cfg", "a0")) == 7
    assert build(shapes.deep("sum")).cfg.a == 1007
    assert build(shapes.diamond("sum")).cfg.a == 7 * 2**30
    value = build(shapes.deep("upward")).cfg
    for _ in range(1001):
        value = value.a
    assert value.a == 7


def test_a_circle_of_a_thousand_references_is_told_in_a_few_lines():
    config = shapes.deep("hops")
    config.cfg.a1000 = ref("cfg.a0")
    with pytest.raises(UserError, match="form a circle") as refused:
        build(config)
    assert len(refused.value.lines) < 12
    assert "993 more" in str(refused.value)


def test_arithmetic_is_written_short_and_compared_whole():
    def doubled(name):
        value = ref(name)
        for _ in range(40):
            value = value + value
        return value

    assert len(repr(doubled("x"))) < 500
    assert doubled("x") == doubled("x") != doubled("y")


def fail(a=None, x=0):
    raise ValueError("no")


def test_an_error_at_depth_is_a_few_short_lines():
    config = fdl.Config(fail, a=[shapes.DIAMONDS["nodes"](30)], x=ref("cfg.x"))
    for _ in range(1000):
        config = fdl.Config(Box, a=config)
    with pytest.raises(BuildError) as failed:
        build(fdl.Config(Root, cfg=config))
    lines = failed.value.lines
    assert lines[0].startswith("cannot build cfg.a.a.a") and "1,001 levels" in lines[0]
    assert max(map(len, lines)) < 300
    assert failed.value.path == "cfg" + ".a" * 1000


def test_missing_arguments_at_depth_are_each_a_short_line():
    def needs(a):
        return a

    config = fdl.Config(needs)
    for _ in range(1000):
        config = fdl.Config(Box, a=config, b=fdl.Config(needs))
    with pytest.raises(UserError) as refused:
        build(config)
    assert len(refused.value.lines) == 1003
    assert max(map(len, refused.value.lines)) < 300


def test_a_factory_below_a_thousand_factories_is_called_at_each_call():
    made = []

    def make():
        made.append(len(made))
        return made[-1]

    inner = fdl.ArgFactory(make)
    for _ in range(1000):
        inner = fdl.ArgFactory(Box, a=inner)
    deep = [inner]
    for _ in range(1000):
        deep = [deep]
    called = build(fdl.Partial(Box, a=inner, b=deep))
    assert made == []
    assert arg_factory.is_arg_factory_partial(called)
    one, two = called(), called(b=None)
    assert made == [0, 1, 2]
    assert two.b is None and one.a is not two.a
    value = one.b
    for _ in range(1001):
        (value,) = value
    for _ in range(1000):
        value = value.a
    assert value == 1


def test_a_build_in_a_build_is_refused_at_any_depth():
    def nested():
        return build(fdl.Config(Crate))

    config = fdl.Config(nested)
    for _ in range(1000):
        config = fdl.Config(Box, a=config)
    with pytest.raises(BuildError, match="forbidden to call"):
        build(config)
    assert build(fdl.Config(Crate)) == Crate()


def test_a_circle_is_told_by_whatever_meets_it():
    config = last = fdl.Config(Box)
    for _ in range(1000):
        config = fdl.Config(Box, a=config)
    last.a = config
    for use in (snapshot, copy, build, dumps):
        with pytest.raises(UserError, match="contains itself") as refused:
            use(config)
        assert max(map(len, refused.value.lines)) < 500


def test_a_config_that_is_a_reference_has_nothing_to_refer_to():
    config = ref("x")
    assert render(tree(snapshot(config))) == "ref(x) = ?\n"
    assert render(tree(read(dumps(config)))) == "ref(x) = ?\n"
    for use in (build, lambda config: resolved_value(config, ())):
        with pytest.raises(UserError, match="the whole config is a reference"):
            use(config)


def test_places_know_a_way_to_every_node():
    graph = snapshot(shapes.deep("mixed"))
    places = Places(graph)
    assert isinstance(graph.root, Link)
    assert max(len(places.path(number)) for number in places.order) == 1001


def test_an_object_that_never_stops_showing_itself_is_cut_short():
    built = shapes.build_diamond(30)
    config = fdl.Config(Root, cfg=built, x=ref("cfg"))
    assert "cfg = Box(...)" in render(tree(snapshot(config)))
    with pytest.raises(BuildError) as failed:
        build(fdl.Config(fail, a=[shapes.diamond("nodes")], x=ref("a")))
    assert "a=[Root(...)]" in failed.value.lines[-1]
    with pytest.raises(UserError, match=r"with nothing below it|built"):
        apply(config, [Override("set", "cfg.a=1")], None)


def test_deep_elements_of_sets_and_deep_keys_are_ordered_or_refused():
    deep, diamond, key = (1,), frozenset(), (1,)
    for _ in range(1000):
        deep, key = (deep, 1), (key,)
    for _ in range(30):
        diamond = frozenset([(diamond, diamond)])
    config = fdl.Config(Box, a={deep, 3, (2, "x"), diamond})
    is_same = equal(loads(dumps(config), allow=[shapes.__name__]), copy(config))
    assert is_same
    config = fdl.Config(Box, a={key: 1})
    assert len(render(tree(snapshot(config)))) < 500
    with pytest.raises(UserError, match="a key nested too deeply"):
        dumps(config)
