"""Configs as deep as configs get, and diamonds: two links at every level.

A diamond of n levels has n nodes and 2**n paths. `everything` has many at once.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import fiddle as fdl
from fiddle import tagging

from fdlkit.graph.references import ref


class Deepest(fdl.Tag):
    """The argument at the far end."""


class Pair(NamedTuple):
    left: Any
    right: Any


@dataclasses.dataclass
class Box:
    """Anything in `a` and `b`; a number in `x`."""

    a: Any = None
    b: Any = None
    x: int = 0


@dataclasses.dataclass
class Crate:
    """Has what a box has, but for `b`."""

    a: Any = None
    x: int = 0


def bottom() -> fdl.Config:
    """What is at the far end of the shapes that end in a node."""
    node = fdl.Config(Box, x=7)
    fdl.add_tag(node, "x", Deepest)
    return node


def _wrapped(wrap: Callable[[Any, int], Any]) -> Callable[[int], Any]:
    def make(levels: int) -> Any:
        value: Any = bottom()
        for level in range(levels):
            value = wrap(value, level)
        return value

    return make


def _mixed(value: Any, level: int) -> Any:
    wraps: list[Callable[[Any], Any]] = [
        lambda v: fdl.Config(Box, a=v),
        lambda v: [v],
        lambda v: {"k": v},
        lambda v: (v,),
        lambda v: Pair(1, v),
        lambda v: fdl.Partial(Box, a=v),
        lambda v: collections.OrderedDict(k=v),
    ]
    return wraps[level % len(wraps)](value)


def _hops(levels: int) -> fdl.Config:
    """`a0` is a reference to `a1`, and so on; the last one is 7."""
    hops = {f"a{n}": ref(f"cfg.a{n + 1}") for n in range(levels)}
    return fdl.Config(dict, **hops, **{f"a{levels}": 7})


def _upward(levels: int) -> fdl.Config:
    value = fdl.Config(Crate, a=ref("^b"))
    for _ in range(levels):
        value = fdl.Config(Crate, a=value)
    return fdl.Config(Box, a=value, b=7)


def _sum(levels: int) -> fdl.Config:
    total: Any = ref("cfg.x")
    for _ in range(levels):
        total = total + 1
    return fdl.Config(Box, a=total, x=7)


def _leaf_tuples(levels: int) -> tuple[Any, ...]:
    value: tuple[Any, ...] = (7,)
    for _ in range(levels):
        value = (value, 1)
    return value


def _tagged(levels: int) -> Any:
    value: Any = 7  # a leaf, in whose place a tag's number may stand
    for _ in range(levels):
        value = [tagging.TaggedValue(tags=[Deepest], default=value)]
    return value


# What is at `cfg` of the root, by which references name it.
DEEP: dict[str, Callable[[int], Any]] = {
    "nodes": _wrapped(lambda value, _: fdl.Config(Box, a=value)),
    "lists": _wrapped(lambda value, _: [value]),
    "dicts": _wrapped(lambda value, _: {"k": value}),
    "ordered_dicts": _wrapped(lambda value, _: collections.OrderedDict(k=value)),
    "tuples": _wrapped(lambda value, _: (value, 1)),
    "leaf_tuples": _leaf_tuples,
    "pairs": _wrapped(lambda value, _: Pair(1, value)),
    "partials": _wrapped(lambda value, _: fdl.Partial(Box, a=value)),
    "factories": lambda levels: fdl.Partial(
        Box,
        a=_wrapped(lambda value, _: fdl.ArgFactory(Box, a=value))(levels),
    ),
    "factory_lists": lambda levels: fdl.Partial(
        Box, a=_nested_list(fdl.ArgFactory(Box, x=7), levels)
    ),
    "tagged": _tagged,
    "mixed": _wrapped(_mixed),
    "hops": _hops,
    "upward": _upward,
    "sum": _sum,
}


def _nested_list(value: Any, levels: int) -> Any:
    for _ in range(levels):
        value = [value]
    return value


DIAMONDS: dict[str, Callable[[int], Any]] = {
    "nodes": _wrapped(lambda value, _: fdl.Config(Box, a=value, b=value)),
    "lists": _wrapped(lambda value, _: [value, value]),
    "dicts": _wrapped(lambda value, _: {"k": value, "l": value}),
    "tuples": _wrapped(lambda value, _: (value, value)),
    "pairs": _wrapped(lambda value, _: Pair(value, value)),
    "leaf_tuples": lambda levels: _doubled((7,), levels, lambda v: (v, v)),
    "leaf_pairs": lambda levels: _doubled((7,), levels, lambda v: Pair(v, v)),
    "empty_lists": lambda levels: _doubled([], levels, lambda v: [v, v]),
    "partials": _wrapped(lambda value, _: fdl.Partial(Box, a=value, b=value)),
    "factories": lambda levels: fdl.Partial(
        Box,
        a=_wrapped(lambda value, _: fdl.ArgFactory(Box, a=value, b=value))(levels),
    ),
    "mixed": _wrapped(
        lambda value, level: [value, _mixed(value, level), (value,), {"k": value}]
    ),
    "sum": lambda levels: fdl.Config(
        Box, a=_doubled(ref("cfg.x"), levels, lambda v: v + v), x=7
    ),
    "upward": lambda levels: fdl.Config(
        Box, a=_doubled(fdl.Config(Crate, a=ref("^b")), levels, _crates), b=7
    ),
}


def _crates(value: Any) -> Any:
    return fdl.Config(Crate, a=[value, value])


def _doubled(value: Any, levels: int, double: Callable[[Any], Any]) -> Any:
    for _ in range(levels):
        value = double(value)
    return value


@dataclasses.dataclass
class Root:
    """Holds a shape, where references look for it."""

    cfg: Any
    x: int = 0


def deep(kind: str, levels: int = 1000) -> fdl.Config:
    """One kind, `levels` deep."""
    return _rooted(DEEP[kind](levels))


def diamond(kind: str, levels: int = 30) -> fdl.Config:
    """One kind of diamond."""
    return _rooted(DIAMONDS[kind](levels))


def everything(levels: int = 1000, diamonds: int = 30) -> fdl.Config:
    """Several of the deep ones and all diamonds that need not be alone at the root."""
    deeps = ("nodes", "lists", "mixed", "leaf_tuples", "factories", "upward")
    shapes = {f"deep {kind}": DEEP[kind](levels) for kind in deeps}
    for kind, make in DIAMONDS.items():
        if kind != "sum":
            shapes[f"diamond {kind}"] = make(diamonds)
    return _rooted(shapes)


def _rooted(shape: Any) -> fdl.Config:
    root = fdl.Config(Root, cfg=shape)
    fdl.add_tag(root, "x", Deepest)
    return root


def touch(cfg: fdl.Config) -> None:
    """A fiddler."""
    cfg.x = 99


def build_diamond(levels: int) -> Box:
    """A built diamond, whose `repr` has no end."""
    return _doubled(Box(x=7), levels, lambda value: Box(value, value))
