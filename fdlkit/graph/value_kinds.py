"""What kinds of values are no more than what they were made of, one by one.

Each is taken apart by its exact type, and made again by its name.
"""

from __future__ import annotations

import datetime
import decimal
import fractions
import functools
import importlib
import pathlib
import sys
from collections.abc import Callable
from typing import Any

PARTIAL = "functools", "partial"
PARTITION_SPEC = "jax.sharding", "PartitionSpec"
UNCONSTRAINED = "jax.sharding", "PartitionSpec.UNCONSTRAINED"

# What makes an equal value: by position, and by name.
Arguments = tuple[list[Any], dict[str, Any]]


def take(value: Any) -> tuple[tuple[str, str], Arguments] | None:
    """The name of what makes such a value, and of what it makes it.

    None if the value is of none of these kinds, or holds more than that.
    """
    known = _TAKERS.get(type(value))
    if known is None:
        return _partition_spec(value)
    name, taker = known
    taken = taker(value)
    return None if taken is None else (name, taken)


def _partition_spec(value: Any) -> tuple[tuple[str, str], Arguments] | None:
    """A `jax.sharding.PartitionSpec`, or what in one stands for no constraint."""
    spec: Any = getattr(sys.modules.get("jax.sharding"), "PartitionSpec", None)
    if spec is None:
        return None
    if value is getattr(spec, "UNCONSTRAINED", spec):
        return UNCONSTRAINED, ([], {})
    if type(value) is not spec:
        return None
    sets = {name: getattr(value, name, None) for name in ("unreduced", "reduced")}
    partitions = getattr(value, "partitions", value)
    return PARTITION_SPEC, (list(partitions), {k: v for k, v in sets.items() if v})


def _make_partition_spec(*axes: Any, **sets: Any) -> Any:
    return importlib.import_module("jax.sharding").PartitionSpec(*axes, **sets)


def _make_unconstrained() -> Any:
    return importlib.import_module("jax.sharding").PartitionSpec.UNCONSTRAINED


def _make_fraction(*parts: Any) -> fractions.Fraction:
    if len(parts) != 2 or not all(type(part) is int for part in parts):
        raise TypeError("it takes two ints")  # of a text `1e999999999` it would not end
    return fractions.Fraction(*parts)


def _of_partial(value: functools.partial[Any]) -> Arguments | None:
    if vars(value):
        return None  # attributes that nothing would give back
    return [value.func, *value.args], value.keywords


def _of_path(value: pathlib.PurePath) -> Arguments:
    return [value.as_posix()], {}


def _of_range(value: range) -> Arguments:
    step = [] if value.step == 1 else [value.step]
    return [value.start, value.stop, *step], {}


def _of_timedelta(value: datetime.timedelta) -> Arguments:
    units = ("days", "seconds", "microseconds")
    given = {unit: getattr(value, unit) for unit in units}
    return [], {unit: count for unit, count in given.items() if count}


def _of_time(value: datetime.time | datetime.datetime) -> Arguments:
    units = ["hour", "minute", "second", "microsecond"]
    if isinstance(value, datetime.datetime):
        units = ["year", "month", "day", *units]
    plain = [getattr(value, unit) for unit in units]
    zone = {"tzinfo": value.tzinfo} if value.tzinfo is not None else {}
    return plain, zone | ({"fold": value.fold} if value.fold else {})


def _of_timezone(value: datetime.timezone) -> Arguments:
    return list(value.__getinitargs__()), {}  # type: ignore[attr-defined]


# By exact type: what it is called, and what makes an equal one.
_TAKERS: dict[type, tuple[tuple[str, str], Callable[[Any], Arguments | None]]] = {
    pathlib.PosixPath: (("pathlib", "Path"), _of_path),
    pathlib.WindowsPath: (("pathlib", "Path"), _of_path),
    pathlib.PurePosixPath: (("pathlib", "PurePosixPath"), _of_path),
    pathlib.PureWindowsPath: (("pathlib", "PureWindowsPath"), _of_path),
    range: (("builtins", "range"), _of_range),
    slice: (("builtins", "slice"), lambda v: ([v.start, v.stop, v.step], {})),
    type(...): (("builtins", "Ellipsis"), lambda _: ([], {})),
    decimal.Decimal: (("decimal", "Decimal"), lambda v: ([str(v)], {})),
    fractions.Fraction: (
        ("fractions", "Fraction"),
        lambda v: ([v.numerator, v.denominator], {}),
    ),
    datetime.timedelta: (("datetime", "timedelta"), _of_timedelta),
    datetime.timezone: (("datetime", "timezone"), _of_timezone),
    datetime.date: (
        ("datetime", "date"),
        lambda v: ([v.year, v.month, v.day], {}),
    ),
    datetime.time: (("datetime", "time"), _of_time),
    datetime.datetime: (("datetime", "datetime"), _of_time),
    functools.partial: (PARTIAL, _of_partial),
}

# By name: what makes it. None of these reads, writes, runs or imports what it is given.
MAKERS: dict[tuple[str, str], Callable[..., Any]] = {
    ("pathlib", "Path"): pathlib.Path,
    ("pathlib", "PurePosixPath"): pathlib.PurePosixPath,
    ("pathlib", "PureWindowsPath"): pathlib.PureWindowsPath,
    ("builtins", "range"): range,
    ("builtins", "slice"): slice,
    ("builtins", "Ellipsis"): lambda: ...,
    ("decimal", "Decimal"): decimal.Decimal,
    ("fractions", "Fraction"): _make_fraction,
    ("datetime", "timedelta"): datetime.timedelta,
    ("datetime", "timezone"): datetime.timezone,
    ("datetime", "date"): datetime.date,
    ("datetime", "time"): datetime.time,
    ("datetime", "datetime"): datetime.datetime,
    PARTIAL: functools.partial,
    PARTITION_SPEC: _make_partition_spec,
    UNCONSTRAINED: _make_unconstrained,
    ("builtins", "tuple"): lambda *elements: elements,
    ("builtins", "list"): lambda *elements: list(elements),
    ("builtins", "set"): lambda *elements: set(elements),
    ("builtins", "frozenset"): lambda *elements: frozenset(elements),
    ("builtins", "dict"): lambda *pairs: dict(pairs),
}
