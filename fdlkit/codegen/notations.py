"""Values of Python's own types in the notation that a person would use."""

from __future__ import annotations

import collections
import datetime
import functools
import pathlib
import re
import sys
import types
import typing
import uuid
import zoneinfo
from collections.abc import Callable, Iterable
from typing import Any

from fdlkit.codegen.program import Imported, Part, Text
from fdlkit.codegen.refusals import UnwritableError
from fdlkit.codegen.writes import Leaves
from fdlkit.graph import ranks

_PRIVATE = "move it to the top level of a module, so that it can be imported"


def text(value: Any, leaves: Leaves) -> Text | None:
    """The text of a value; None if it is of no such type.

    Raises:
      UnwritableError: Something in it cannot be written.
    """
    for kinds, write in _WRITERS:
        if isinstance(value, kinds):
            written = write(value, leaves)
            if written is not None:
                return written
    return None


def _items(opening: str, values: Iterable[Any], closing: str, leaves: Leaves) -> Text:
    parts: list[Part] = [opening]
    for number, value in enumerate(values):
        parts += [", "] if number else []
        parts += leaves.live(value)
    return (*parts, closing)


def _sequence(value: Any, leaves: Leaves) -> Text | None:
    if type(value) is list:
        return _items("[", value, "]", leaves)
    if type(value) is tuple:
        return _items("(", value, ",)" if len(value) == 1 else ")", leaves)
    if (fields := getattr(value, "_fields", None)) is not None:
        named = dict(zip(fields, value, strict=True))
        return leaves.call(leaves.type_name(value), (), named)
    return None


def _set(value: Any, leaves: Leaves) -> Text | None:
    ordered = sorted(value, key=lambda e: ranks.rank(e, leaves.neutral_form))
    if type(value) is set:
        return _items("{", ordered, "}", leaves) if value else ("set()",)
    if type(value) is frozenset:
        inside = _items("{", ordered, "}", leaves) if value else ()
        return ("frozenset(", *inside, ")")
    return None


def _mapping(value: Any, leaves: Leaves) -> Text | None:
    parts: list[Part] = ["{"]
    for number, (key, one) in enumerate(value.items()):
        parts += [", "] if number else []
        parts += [*leaves.live(key), ": ", *leaves.live(one)]
    inside = (*parts, "}")
    if type(value) is dict:
        return inside
    if type(value) is collections.OrderedDict:
        return (Imported("collections", "OrderedDict"), "(", *inside, ")")
    if type(value) is collections.Counter:
        return (Imported("collections", "Counter"), "(", *inside, ")")
    if type(value) is collections.defaultdict:
        make = leaves.live(value.default_factory)
        name = Imported("collections", "defaultdict")
        return (name, "(", *make, ", ", *inside, ")")
    if type(value) is types.MappingProxyType:
        return (Imported("types", "MappingProxyType"), "(", *inside, ")")
    return None


def _deque(value: Any, leaves: Leaves) -> Text | None:
    if type(value) is not collections.deque:
        return None
    name = (Imported("collections", "deque"),)
    named = {} if value.maxlen is None else {"maxlen": value.maxlen}
    return leaves.call(name, [list(value)], named)


def _partial(value: Any, leaves: Leaves) -> Text | None:
    if type(value) is not functools.partial:
        return None
    if not all(name.isidentifier() for name in value.keywords):
        return None
    name = (Imported("functools", "partial"),)
    return leaves.call(name, [value.func, *value.args], value.keywords)


def _module(value: Any, leaves: Leaves) -> Text:
    name = str(value.__name__)
    if sys.modules.get(name) is not value:
        raise UnwritableError(f"a module {name} that no import leads to", _PRIVATE)
    return (Imported(name),)


def _path(value: Any, leaves: Leaves) -> Text | None:
    if type(value) is type(pathlib.Path()):
        return leaves.call((Imported("pathlib", "Path"),), [str(value)])
    if type(value).__module__.partition(".")[0] == "pathlib":
        name = (Imported("pathlib", type(value).__name__),)
        return leaves.call(name, [str(value)])
    if type(value).__module__.startswith("etils."):
        return leaves.call((Imported("etils.epath", "Path"),), [str(value)])
    return None


def _time(value: Any, leaves: Leaves) -> Text | None:
    zone = getattr(value, "tzinfo", None)
    if type(value).__module__ != "datetime":
        return None
    if zone is not None and type(zone).__module__ != "datetime":
        if not isinstance(zone, zoneinfo.ZoneInfo):
            return None
        plain = leaves.live(value.replace(tzinfo=None))
        return (*plain, ".replace(tzinfo=", *leaves.live(zone), ")")
    parts: list[Part] = []
    for piece in re.split(r"\bdatetime\.(?=[a-z])", repr(value)):
        parts += [Imported("datetime"), f".{piece}"] if piece else []
    return tuple(parts)


def _zone(value: Any, leaves: Leaves) -> Text | None:
    if value.key is None:
        return None
    return leaves.call((Imported("zoneinfo", "ZoneInfo"),), [value.key])


def _annotation(value: Any, leaves: Leaves) -> Text | None:
    """`list[int]`, `int | None`, `Optional[int]`, `Callable[[int], str]`."""
    origin, args = typing.get_origin(value), typing.get_args(value)
    if origin is None:
        return None
    if isinstance(value, types.UnionType):
        return _joined(args, " | ", leaves)
    if type(value) is types.GenericAlias or origin is typing.Annotated:
        head: Text = leaves.live(
            typing.Annotated if origin is typing.Annotated else origin
        )
    else:
        name = _typing_name(value, origin)
        head = (Imported("typing", name),) if name else leaves.live(origin)
    if origin is collections.abc.Callable and args:
        inside = (_items("[", args[0], "]", leaves), leaves.live(args[1]))
        if args[0] is ...:
            inside = (("...",), leaves.live(args[1]))
        return (*head, "[", *inside[0], ", ", *inside[1], "]")
    if origin is tuple and not args:
        return (*head, "[()]")
    return (*head, "[", *_joined(args, ", ", leaves), "]")


def _typing_name(value: Any, origin: Any) -> str:
    """What `typing` calls it: `Union`, `List`; empty if it has no name there."""
    if origin is typing.Union:
        return "Union"
    for named in (value, origin):
        name = getattr(named, "_name", None)
        if isinstance(name, str) and hasattr(typing, name):
            return name
    return ""


def _joined(values: Iterable[Any], between: str, leaves: Leaves) -> Text:
    parts: list[Part] = []
    for value in values:
        parts += [between] if parts else []
        parts += ("None",) if value is type(None) else leaves.live(value)
    return tuple(parts)


def _slice(value: Any, leaves: Leaves) -> Text:
    ends = [value.start, value.stop]
    return leaves.call(("slice",), ends if value.step is None else [*ends, value.step])


def _range(value: Any, leaves: Leaves) -> Text:
    if value.step != 1:
        return leaves.call(("range",), [value.start, value.stop, value.step])
    ends = [value.stop] if value.start == 0 else [value.start, value.stop]
    return leaves.call(("range",), ends)


def _namespace(value: Any, leaves: Leaves) -> Text | None:
    if type(value) is not types.SimpleNamespace:
        return None
    return leaves.call((Imported("types", "SimpleNamespace"),), (), vars(value))


def _pattern(value: Any, leaves: Leaves) -> Text:
    flags = re.RegexFlag(value.flags)
    if isinstance(value.pattern, str):
        flags &= ~re.UNICODE  # goes without saying
    parts: list[Part] = []
    for flag in flags:
        parts += [" | " if parts else ", ", Imported("re"), f".{flag.name}"]
    return (Imported("re"), ".compile(", *leaves.live(value.pattern), *parts, ")")


def _uuid(value: Any, leaves: Leaves) -> Text:
    return leaves.call((Imported("uuid", "UUID"),), [str(value)])


def _ellipsis(value: Any, leaves: Leaves) -> Text:
    return ("..." if value is ... else "NotImplemented",)


# The first that fits and does not answer None writes it.
_WRITERS: tuple[tuple[Any, Callable[[Any, Leaves], Text | None]], ...] = (
    (list | tuple, _sequence),
    (set | frozenset, _set),
    (dict | types.MappingProxyType, _mapping),
    (collections.deque, _deque),
    (functools.partial, _partial),
    (types.ModuleType, _module),
    (pathlib.PurePath, _path),
    (
        datetime.date | datetime.time | datetime.timedelta | datetime.timezone,
        _time,
    ),
    (zoneinfo.ZoneInfo, _zone),
    (slice, _slice),
    (range, _range),
    (types.SimpleNamespace, _namespace),
    (re.Pattern, _pattern),
    (uuid.UUID, _uuid),
    (types.EllipsisType | types.NotImplementedType, _ellipsis),
    (object, _annotation),
)
