"""A config is built wherever it stands, or refused: it never stays a config."""

from __future__ import annotations

import collections
import dataclasses
import functools
import gc
import types
from typing import Any, NamedTuple

import fiddle as fdl
import hypothesis
import numpy as np
import pytest
from fiddle import daglish
from hypothesis import strategies as st

from fdlkit.errors import UserError
from fdlkit.graph.build import build
from fdlkit.graph.hidden_configs import find_hidden, search
from fdlkit.graph.references import ref
from fdlkit.graph.snapshot import snapshot


@dataclasses.dataclass
class Box:
    a: Any = None
    b: Any = None


@dataclasses.dataclass(frozen=True, eq=False)
class Frozen:
    inner: Any


class Plain:
    def __init__(self, inner):
        self.inner = inner


class Slotted:
    __slots__ = ("__inner",)

    def __init__(self, inner):
        self.__inner = inner


class Pair(NamedTuple):
    left: Any
    right: Any


class Tree:
    """A container that Fiddle is told of."""

    def __init__(self, *children):
        self.children = children


daglish.register_node_traverser(
    Tree,
    flatten_fn=lambda tree: (tree.children, None),
    unflatten_fn=lambda children, _: Tree(*children),
    path_elements_fn=lambda tree: tuple(map(daglish.Index, range(len(tree.children)))),
)


class Names(dict):
    def items(self):
        return []


class Rows(list):
    def __iter__(self):
        return iter(())


def keep(*args, **kwargs):
    return args, kwargs


def closed_over(inner):
    def function():
        return inner

    return function


def with_default(inner):
    def function(x=inner, *, y=0):
        return x, y

    return function


def with_attribute(inner):
    def function():
        return None

    function.inner = inner
    return function


def objects_in_array(inner):
    array = np.empty(1, dtype=object)
    array[0] = inner
    return array


# In these a config is built.
OPEN = {
    "list": lambda x: [x],
    "tuple": lambda x: (0, x),
    "dict": lambda x: {"k": x},
    "ordered": lambda x: collections.OrderedDict(k=x),
    "default": lambda x: collections.defaultdict(list, {"k": x}),
    "pair": lambda x: Pair(1, x),
    "tree": lambda x: Tree(0, x),
    "config": lambda x: fdl.Config(Box, a=x),
    "partial config": lambda x: fdl.Partial(Box, a=x),
}

# In these it would stay a config.
CLOSED = {
    "frozen": Frozen,
    "plain": Plain,
    "slots": Slotted,
    "dict subclass": lambda x: Names(k=x),
    "list subclass": lambda x: Rows([x]),
    "deque": lambda x: collections.deque([x]),
    "chain map": lambda x: collections.ChainMap({"k": x}),
    "user dict": lambda x: collections.UserDict(k=x),
    "read only": lambda x: types.MappingProxyType({"k": x}),
    "view": lambda x: {"k": x}.values(),
    "iterator": lambda x: iter([x]),
    "map": lambda x: map(Plain, [x]),
    "set of objects": lambda x: {Plain(x)},
    "frozenset of objects": lambda x: frozenset({Frozen(x)}),
    "key": lambda x: {Plain(x): 1},
    "key in a tuple": lambda x: {(1, Plain(x)): 1},
    "partial": lambda x: functools.partial(keep, x),
    "partial by name": lambda x: functools.partial(keep, k=[x]),
    "closure": closed_over,
    "default value": with_default,
    "attribute of a function": with_attribute,
    "array of objects": objects_in_array,
    "method": lambda x: Plain(x).__init__,
    "factory": lambda x: collections.defaultdict(closed_over(x)),
    "partial to call": lambda x: fdl.Config(functools.partial(keep, x)),
    "closure to call": lambda x: fdl.Config(closed_over(x)),
    "namespace": lambda x: types.SimpleNamespace(inner=x),
}


def is_config_free(value):
    """Whether no config can be reached from a value, by Python's own bookkeeping."""
    stop = (type, types.ModuleType, types.FrameType)
    seen, todo = set(), [value]
    while todo:
        at = todo.pop()
        if isinstance(at, fdl.Buildable):
            return False
        if id(at) in seen or isinstance(at, stop):
            continue
        seen.add(id(at))
        if isinstance(at, types.FunctionType):
            todo += [at.__closure__, at.__defaults__, at.__dict__]
        else:
            todo += gc.get_referents(at)
    return True


@pytest.mark.parametrize("name", OPEN)
def test_it_is_built_in_what_fiddle_knows(name):
    built = build(fdl.Config(Box, a=OPEN[name](fdl.Config(Box, a=1))))
    assert is_config_free(built)


@pytest.mark.parametrize("name", CLOSED)
def test_it_is_refused_in_all_else_with_its_path(name):
    config = fdl.Config(Box, b=[CLOSED[name](fdl.Config(Box, a=1))])
    with pytest.raises(UserError) as refused:
        build(config)
    told = "\n".join(refused.value.lines)
    assert "b[0]" in told
    if name != "method":  # which is a built object in its own right
        assert refused.value.lines[0] == "1 config is where no build looks"
        assert f"a config of {__name__}.Box" in told


@pytest.mark.parametrize("name", CLOSED)
def test_the_same_with_a_plain_value_inside_is_no_trap(name):
    assert not find_hidden(snapshot(fdl.Config(Box, b=[CLOSED[name](1)])))


@hypothesis.given(
    st.lists(st.sampled_from([*OPEN, *CLOSED]), min_size=1, max_size=5), st.booleans()
)
def test_in_any_nesting_it_is_built_or_refused(names, has_config):
    value: Any = fdl.Config(Box, a=1) if has_config else 1
    is_hidden = False
    for name in names:
        value = (OPEN | CLOSED)[name](value)
        is_hidden |= has_config and name in CLOSED
        has_config |= "config" in name or "to call" in name
    config = fdl.Config(Box, b=value)
    if is_hidden:
        with pytest.raises(UserError, match=r"(?m)^  b.*: a (config of|bound method)"):
            build(config)
    elif "method" not in names:  # that is a built object, with or without a config
        assert is_config_free(build(config))


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (Frozen([fdl.Config(Box)]), "a.inner[0]: a config of"),
        (functools.partial(keep, k=fdl.Config(Box)), "a.keywords['k']: a config of"),
        (
            functools.partial(keep, 0, {"x": fdl.Config(Box)}),
            "a.args[1]['x']: a config",
        ),
        (closed_over(fdl.Config(Box)), "a closure 'inner': a config of"),
        (collections.deque([1, fdl.Config(Box)]), "a[1]: a config of"),
        (Plain(ref("b") * 2), "a.inner: ref(b) * 2, inside a Plain"),
    ],
    ids=lambda v: "",
)
def test_the_way_to_it_is_told(value, told):
    with pytest.raises(UserError) as refused:
        build(fdl.Config(Box, a=value, b=1))
    assert refused.value.lines[1].startswith(f"  {told}")
    assert "test_hidden_configs.py:" in refused.value.lines[1]


def test_every_one_is_told_and_nothing_is_built():
    made = []

    def make(x):
        made.append(x)

    config = [
        fdl.Config(make, 1),
        Plain(fdl.Config(Box)),
        {"k": Frozen(fdl.Config(Box))},
    ]
    with pytest.raises(UserError) as refused:
        build(config)
    assert refused.value.lines[0] == "2 configs are where no build looks"
    assert [line.split(":")[0] for line in refused.value.lines[1:3]] == [
        "  [1].inner",
        "  [2]['k'].inner",
    ]
    assert made == []


def test_a_function_of_a_module_is_not_looked_into():
    assert search(keep) is None
    assert search(functools.lru_cache(keep)) is None


def test_what_holds_itself_and_what_is_deep_is_searched():
    loop = Plain(None)
    loop.inner = [loop, Plain(1)]
    assert search(loop) is None
    deep: Any = fdl.Config(Box)
    for _ in range(3000):
        deep = Plain([deep])
    inside, found = search(deep)
    assert isinstance(found, fdl.Config) and inside.startswith(".inner[0].inner[0]")


DEFAULT = fdl.Config(Box, a=1)
REFERENCE = ref("x")


def by_default(x=DEFAULT, xs=(1, [DEFAULT]), *, y=REFERENCE, z=3):
    return x, xs, y, z


def of_plain_defaults(x=(1, [2]), y=Plain, z=np.float32):
    return x, y, z


@dataclasses.dataclass
class Makes:
    one: Any = dataclasses.field(default_factory=lambda: fdl.Config(Box))
    many: Any = dataclasses.field(default_factory=list)


@pytest.mark.parametrize("kind", [fdl.Config, fdl.Partial])
def test_a_default_that_is_a_config_is_refused(kind):
    with pytest.raises(UserError) as caught:
        build(fdl.Config(Box, a=kind(by_default), b=kind(by_default, x=1)))
    where = f"default of {by_default.__module__}.by_default"
    box = f"a config of {Box.__module__}.Box"
    assert list(caught.value.lines[:-1]) == [
        "5 configs are where no build looks",
        f"  a.x: {box}, inside a {where}",
        f"  a.xs[1][0]: {box}, inside a {where}",
        f"  a.y: ref(x), inside a {where}",
        f"  b.xs[1][0]: {box}, inside a {where}",
        f"  b.y: ref(x), inside a {where}",
    ]


def test_where_the_arguments_are_set_the_defaults_do_not_matter():
    assert build(fdl.Config(by_default, x=1, xs=2, y=3)) == (1, 2, 3, 3)
    assert build(fdl.Config(of_plain_defaults))[0] == (1, [2])
    # A parameter that stands by place is found by its own default.
    assert build(fdl.Config(of_plain_defaults, 5))[0] == 5


def test_a_config_that_a_default_factory_makes_is_refused():
    with pytest.raises(UserError) as caught:
        build(fdl.Config(Box, a=[fdl.Config(Makes)]))
    name = f"{Makes.__module__}.Makes"
    assert caught.value.lines[0] == f"the default of a[0] ({name}) is a config: one"
    assert build(fdl.Config(Makes, one=fdl.Config(Box))) == Makes(Box(), [])
