"""Values that are no more than what they were made of, taken apart and made again.

Paths, ranges, slices, decimals, fractions, dates and times, partition specs,
`functools.partial`, and instances of dataclasses and NamedTuples that hold nothing
else. They are leaves of a graph: what is in them has no place of its own.
"""

from __future__ import annotations

import dataclasses
import decimal
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from fiddle import daglish

from fdlkit import suggest
from fdlkit.graph import frameworks, ranks, value_kinds
from fdlkit.graph.model import UNKNOWN, LeafValue, Made, Symbol

_CONTAINERS = (tuple, list, dict, set, frozenset)

# What holds more than this is not written on a line, and is no setting.
_MAX_PARTS = 1000
MAX_LEVELS = 20

Resolve = Callable[[Any], Any]


class LostError(Exception):
    """Something in a value has no form.

    Attributes:
      way: Where in the value: `.args[0]`; empty for the value itself.
      value: What it is.
    """

    def __init__(self, way: str, value: Any):
        super().__init__(way)
        self.way = way
        self.value = value


class MakingError(ValueError):
    """A value cannot be made of what it is said to be made of."""


def take(value: Any, leaf: Callable[[Any], Any]) -> Made:
    """A value taken apart.

    Args:
      value: The value.
      leaf: The form of what has no parts: numbers, functions, enums, arrays; `UNKNOWN`
        for anything else.

    Raises:
      LostError: It is no such value, or holds something that has no form.
    """
    return _Taker(leaf).made(value, "", 0)


def make(made: Made, resolve: Resolve) -> Any:
    """The value that was taken apart, a new one; no constructor of a user's is called.

    Args:
      made: Its form.
      resolve: Looks up whatever it holds that is no plain number or text: symbols,
        enum members, dtypes and arrays.

    Raises:
      MakingError: It cannot be made: a day that no month has, a field that the class
        no longer has.
    """
    plain = [_resolved(v, resolve) for k, v in made.arguments if isinstance(k, int)]
    named = {k: _resolved(v, resolve) for k, v in made.arguments if isinstance(k, str)}
    maker = value_kinds.MAKERS.get((made.type.module, made.type.qualname))
    try:
        if maker is not None:
            return maker(*plain, **named)
    except (TypeError, ValueError, ArithmeticError) as error:
        # Of Decimal's signals the text is a class.
        why = (
            "it is no number" if isinstance(error, decimal.DecimalException) else error
        )
        raise MakingError(f"no {made.type.name} can be made of this: {why}") from None
    return _instance(resolve(made.type), made.type.name, plain, named)


def is_known(symbol: Symbol) -> bool:
    """Whether it is made by what is listed here, without being looked up."""
    return (symbol.module, symbol.qualname) in value_kinds.MAKERS


def symbols(made: Made) -> Iterator[LeafValue]:
    """What it holds, itself apart, that `make` will have resolved; all levels."""
    if not is_known(made.type):
        yield made.type
    for _, held in made.arguments:
        if isinstance(held, Made):
            yield from symbols(held)
        else:
            yield held


def _resolved(held: LeafValue, resolve: Resolve) -> Any:
    return make(held, resolve) if isinstance(held, Made) else resolve(held)


class _Taker:
    """Takes one value apart, as long as it is small."""

    def __init__(self, leaf: Callable[[Any], Any]):
        self._leaf = leaf
        self._left = _MAX_PARTS

    def part(self, value: Any, way: str, level: int) -> LeafValue:
        self._left -= 1
        if self._left < 0 or level > MAX_LEVELS:
            raise LostError(way, value)
        held = self._leaf(value)
        return self.made(value, way, level) if held is UNKNOWN else held

    def made(self, value: Any, way: str, level: int) -> Made:
        kind = type(value)
        taken = value_kinds.take(value)
        if taken is not None:
            name, (plain, named) = taken
        elif kind in _CONTAINERS:
            name, named = ("builtins", kind.__name__), {}
            plain = self._elements(value)
        else:
            return self._instance(value, way, level)
        if kind is functools.partial:
            ways = [".func", *(f".args[{n}]" for n in range(len(plain)))]
        else:
            ways = [f"[{n}]" for n in range(len(plain))]
        arguments: list[tuple[str | int, LeafValue]] = [
            (n, self.part(part, way + step, level + 1))
            for n, (part, step) in enumerate(zip(plain, ways, strict=False))
        ]
        step = ".keywords[{!r}]" if kind is functools.partial else ".{}"
        for key, part in named.items():
            form = self.part(part, way + step.format(key), level + 1)
            arguments.append((key, form))
        return Made(Symbol(*name), tuple(arguments), live=value)

    def _elements(self, value: Any) -> list[Any]:
        if isinstance(value, dict):
            return list(value.items())
        if isinstance(value, set | frozenset):
            return sorted(value, key=lambda e: ranks.rank(e, self._element))
        return list(value)

    def _element(self, value: Any) -> Any:
        """What the order of a set's elements goes by."""
        held = self._leaf(value)
        return self.made(value, "", 0) if held is UNKNOWN else held

    def _instance(self, value: Any, way: str, level: int) -> Made:
        kind = type(value)
        if not (is_tuple_class(kind) or is_value_class(kind)):
            raise LostError(way, value)
        symbol = self._leaf(kind)
        if not isinstance(symbol, Symbol):
            raise LostError(way, value)
        given: dict[str, Any] | None
        if is_tuple_class(kind):
            given = dict(zip(kind._fields, value, strict=True))
        else:
            given = _fields(value)
        if given is None:
            raise LostError(way, value)
        return Made(
            symbol,
            tuple((k, self.part(v, f"{way}.{k}", level + 1)) for k, v in given.items()),
            live=value,
        )


def is_tuple_class(kind: Any) -> bool:
    """Whether it is a class of NamedTuples."""
    return inspect.isclass(kind) and bool(daglish.is_namedtuple_subclass(kind))


def is_value_class(kind: Any) -> bool:
    """Whether instances of a class are what their fields are: a dataclass's, mostly."""
    return (
        inspect.isclass(kind)
        and dataclasses.is_dataclass(kind)
        and kind.__new__ is object.__new__  # no dict or int underneath
        and frameworks.kind(kind) is None
    )


def _fields(value: Any) -> dict[str, Any] | None:
    """The fields of a dataclass's instance; None if it holds anything besides."""
    given = {}
    for field in dataclasses.fields(value):
        try:
            given[field.name] = object.__getattribute__(value, field.name)
        except AttributeError:
            return None
    stored = getattr(value, "__dict__", {})
    return given if stored.keys() <= given.keys() else None


def _instance(kind: Any, name: str, plain: list[Any], named: dict[str, Any]) -> Any:
    """An instance of a dataclass or NamedTuple, without calling the class.

    Fields that the class has got since are given their defaults.
    """
    if is_tuple_class(kind):
        fields, defaults = list(kind._fields), dict(kind._field_defaults)
    elif is_value_class(kind):
        fields = [field.name for field in dataclasses.fields(kind)]
        defaults = {}
        for field in dataclasses.fields(kind):
            if field.default is not dataclasses.MISSING:
                defaults[field.name] = field.default
            elif field.name not in named and callable(field.default_factory):
                defaults[field.name] = field.default_factory()
    else:
        raise MakingError(f"{name} is no dataclass or NamedTuple of plain values")
    problems = [_no_field(name, key, fields) for key in named if key not in fields]
    given = defaults | named
    problems += [f"{name} needs '{key}'" for key in fields if key not in given]
    if plain:
        problems.append(f"{name} takes its fields by name")
    if problems:
        raise MakingError("; ".join(problems))
    if is_tuple_class(kind):
        return tuple.__new__(kind, [given[key] for key in fields])
    new = object.__new__(kind)
    for key in fields:
        object.__setattr__(new, key, given[key])
    return new


def _no_field(name: str, key: str, fields: list[str]) -> str:
    hint = suggest.hint(key, fields) or f"it has {', '.join(fields) or 'none'}"
    return f"{name} has no field '{key}', {hint}"
