"""From a config that a verb has loaded to what TAB may offer of it."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import itertools
import types
import typing
from collections.abc import Iterator
from typing import Any

import fiddle as fdl

from fdlkit.completion.offers import Offers, Step, Wanted
from fdlkit.graph import (
    annotation,
    fiddle_internals,
    paths,
    references,
    signatures,
    walk,
)
from fdlkit.overrides import hints, scalars

# What is deeper or further in a larger config is not offered.
_MOST_STEPS = 5_000
_MOST_CHOICES = 100


def collect(config: fdl.Buildable) -> Offers:
    """The paths, choices and tags of a config, the shallow ones first."""
    return _Collector(config).offers()


class _Collector:
    def __init__(self, config: fdl.Buildable):
        self._numbers: dict[int, int] = {}
        # By number; kept, so that no other value is given the id of one.
        self._values: list[tuple[Any, Any]] = []  # with what is expected there
        self._wanted: dict[tuple[int, str], Wanted] = {}
        self._annotations: list[Any] = []  # kept likewise
        self._tags: dict[str, Wanted] = {}
        self._below(config, Any)

    def offers(self) -> Offers:
        nodes: list[dict[str | int, Step]] = []
        left = _MOST_STEPS
        while len(nodes) < len(self._values):
            value, expected = self._values[len(nodes)]
            children = itertools.islice(_children(value, expected), left)
            steps = {
                key: Step(self._takes(wanted, str(key)), self._below(child, wanted))
                for key, child, wanted in children
            }
            if isinstance(value, fdl.Buildable):
                self._collect_tags(value, steps)
            nodes.append(steps)
            left -= len(steps)
        return Offers(tuple(nodes), dict(sorted(self._tags.items())))

    def _below(self, value: Any, expected: Any) -> int | None:
        """The number of a value that has something below it."""
        if id(value) in self._numbers:
            return self._numbers[id(value)]
        if not _has_children(value):
            return None
        self._values.append((value, expected))
        return self._numbers.setdefault(id(value), len(self._numbers))

    def _takes(self, expected: Any, name: str) -> Wanted:
        known = (id(expected), name)
        if known not in self._wanted:
            self._annotations.append(expected)
            text = "" if expected is Any else annotation.text(expected)
            self._wanted[known] = Wanted(text, choices(expected, name))
        return self._wanted[known]

    def _collect_tags(self, node: fdl.Buildable, steps: dict[str | int, Step]) -> None:
        for key, tags in fiddle_internals.argument_tags(node).items():
            for base in (base for tag in tags for base in tag.__mro__):
                if issubclass(base, fdl.Tag) and base is not fdl.Tag and key in steps:
                    self._tags.setdefault(base.__name__, steps[key].wanted)


@dataclasses.dataclass(frozen=True, eq=False)
class _Default:
    """What an override below an argument that is not set would make a node of.

    Attributes:
      cls: The class that the node would call.
      made: What the class has made, where it is that that is the default.
    """

    cls: type
    made: Any = None


def _has_children(value: Any) -> bool:
    if isinstance(value, fdl.Buildable):
        # A path through a reference is refused.
        return not isinstance(value, references.Reference)
    return isinstance(value, _Default) or bool(walk.children(value))


def _children(value: Any, expected: Any) -> Iterator[tuple[str | int, Any, Any]]:
    """Key, value and annotation of what is below a value and can be typed as a path.

    Arguments that are not set are there too, with what they would be.
    """
    if isinstance(value, fdl.Buildable):
        yield from _arguments(value)
    elif isinstance(value, _Default):
        for name, parameter in signatures.parameters(value.cls).items():
            child = _unset(parameter)
            if value.made is not None:
                child = _as_default(getattr(value.made, name, None))
            yield name, child, parameter.annotation
    else:
        for key, child in walk.children(value):
            real = paths.to_dict_key(key)
            if type(real) is int or (type(real) is str and real.isidentifier()):
                yield real, child, hints.element_type(expected, real)


def _arguments(node: fdl.Buildable) -> Iterator[tuple[str | int, Any, Any]]:
    given = fiddle_internals.raw_arguments(node)
    try:
        known = signatures.parameters(fdl.get_callable(node))
    except (TypeError, ValueError):  # it does not say what it takes
        known = {}
    for name, parameter in known.items():
        child = given[name] if name in given else _unset(parameter)
        yield name, child, parameter.annotation
    for key, child in given.items():
        if key not in known:
            yield key, child, Any


def _unset(parameter: signatures.Parameter) -> Any:
    """What stands for an argument that is not set; no factory is called for it."""
    factory = parameter.factory
    if inspect.isclass(factory) and dataclasses.is_dataclass(factory):
        return _Default(factory)
    return _as_default(parameter.default)


def _as_default(value: Any) -> Any:
    is_made = dataclasses.is_dataclass(value) and not inspect.isclass(value)
    return _Default(type(value), value) if is_made else value


def choices(expected: Any, name: str) -> tuple[str, ...]:
    """The values that a parameter is one of, as they are typed; often there are none.

    Args:
      expected: The parameter's annotation.
      name: The parameter's: `dtype` says what `Any` does not.
    """
    expected = hints.plain(expected)
    members = hints.union_members(expected) or (expected,)
    found: list[str] = []
    if hints.is_dtype(expected, name):
        found += scalars.DTYPES
    for member in members:
        if member is bool:
            found += ["true", "false"]
        elif typing.get_origin(member) is typing.Literal:
            found += map(str, typing.get_args(member))
        elif inspect.isclass(member) and issubclass(member, enum.Enum):
            found += member.__members__
    if found and types.NoneType in members:
        found.append("None")
    typable = (choice for choice in found if choice.isprintable())
    return tuple(dict.fromkeys(typable))[:_MOST_CHOICES]
