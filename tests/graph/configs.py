"""Random configs for the tests of several rooms, and what they call."""

from __future__ import annotations

import collections
import dataclasses
import enum
import pathlib
from typing import Any, NamedTuple

import fiddle as fdl
from fiddle import tagging
from hypothesis import strategies as st

from fdlkit.graph.references import ref
from tests.graph.values import VALUES, Sides


class Norm(enum.Enum):
    LAYER = "layer"
    RMS = "rms"


class Pair(NamedTuple):
    left: Any
    right: Any


class Rate(fdl.Tag):
    """A rate."""


@dataclasses.dataclass
class Box:
    a: Any = None
    b: Any = 0.5
    c: Any = ()


@dataclasses.dataclass
class Dynamic:
    a: Any = 1
    items: list[Any] = dataclasses.field(default_factory=list)


def collect(first, /, *rest, mode="x", **named):
    return first, rest, mode, named


PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.binary(max_size=5),
    st.sampled_from([Norm.LAYER, Norm.RMS, Box, collect, len, (0.9, 0.95), 1j]),
    st.frozensets(st.integers(0, 9), max_size=3),
    st.sets(st.text(max_size=2), max_size=3),
)

# A third of the leaves say of what they were made.
LEAVES = st.one_of(PLAIN, PLAIN, VALUES)


@st.composite
def configs(draw: st.DrawFn, *, references: bool = True, ordered: bool = True) -> Any:
    """A config with sharing of nodes and of containers, of up to a dozen parts."""
    made: list[Any] = []

    def value() -> Any:
        if made and draw(st.booleans()):
            return draw(st.sampled_from(made))
        if references and draw(st.integers(0, 9)) == 0:
            return draw(
                st.sampled_from([ref("top"), ref("top") * 2 - 1, 3 // ref("top")])
            )
        return draw(LEAVES)

    for _ in range(draw(st.integers(0, 10))):
        kinds = sorted(set(_MAKERS) - (set() if ordered else {"ordered"}))
        kind = draw(st.sampled_from(kinds))
        made.append(_MAKERS[kind](draw, value))
    return fdl.Config(dict, top=draw(st.integers(1, 9)), rest=[value(), made])


def _node(draw: st.DrawFn, value: Any, kind: Any) -> Any:
    node = kind(draw(st.sampled_from([Box, Dynamic])), a=value())
    if draw(st.booleans()):
        setattr(node, "b" if fdl.get_callable(node) is Box else "items", value())
    if draw(st.booleans()):
        fdl.add_tag(node, "a", Rate)
    return node


_MAKERS: dict[str, Any] = {
    "config": lambda draw, value: _node(draw, value, fdl.Config),
    "collect": lambda draw, value: fdl.Config(
        collect, value(), *[value() for _ in range(draw(st.integers(0, 2)))], z=value()
    ),
    "partial": lambda draw, value: fdl.Partial(
        Box, a=value(), b=fdl.ArgFactory(Box, a=value()), c=[fdl.ArgFactory(Dynamic)]
    ),
    "tagged": lambda draw, value: [
        tagging.TaggedValue(tags=[Rate], default=draw(LEAVES))
    ],
    "list": lambda draw, value: [value(), value()],
    "tuple": lambda draw, value: (value(), value()),
    "pair": lambda draw, value: Pair(value(), value()),
    "dict": lambda draw, value: {draw(_KEYS): value(), draw(_KEYS): value()},
    "ordered": lambda draw, value: collections.OrderedDict(z=value(), a=value()),
    "default": lambda draw, value: collections.defaultdict(list, {"k": value()}),
}

_KEYS = st.one_of(
    st.integers(),
    st.text(max_size=3),
    st.booleans(),
    st.none(),
    st.sampled_from([Norm.RMS, (1, "a"), b"k", pathlib.Path("k"), Sides(5)]),
)
