"""Values with nothing of a config in them, as expressions that make them again."""

from __future__ import annotations

import collections
import datetime
import enum
import functools
import math
import pathlib
import re
import sys
import types
import typing
import uuid
import zoneinfo
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fdlkit.codegen import naming, objects
from fdlkit.codegen.carrying import Carrier
from fdlkit.codegen.program import Definition, Imported, Part, Text
from fdlkit.codegen.refusals import UnwritableError
from fdlkit.graph import module_names, names, paths, ranks
from fdlkit.graph.model import UNKNOWN, DType, Leaf, Member, Symbol

# What a value holds is written by recursion, which a person could not read deeper.
_MAX_LEVELS = 50

# From here on Python refuses to write an int in decimal.
_MAX_DIGITS = 4000

_PRIVATE = "move it to the top level of a module, so that it can be imported"


class Leaves:
    """Writes values; remembers their names, for as long as one program is written."""

    def __init__(
        self, carried: Mapping[tuple[str, str], str] | None = None
    ) -> None:
        """Begins a program.

        Args:
          carried: Functions and classes whose text the program holds itself, by module
            and qualified name, and what they are called there.
        """
        self._names = names.Names()
        self._carried = carried or {}
        self._carrier = Carrier()
        self._carrier.writes_with(self.live)
        self._levels = 0

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """The functions whose text was carried along, as `Local` parts name them."""
        return self._carrier.definitions

    def leaf(self, leaf: Leaf) -> Text:
        """The text of a leaf of a graph.

        Raises:
          UnwritableError: There is none.
        """
        return self.neutral(leaf.value)

    def neutral(self, held: Any) -> Text:
        """The text of a leaf's value, or of a dict's key, as a graph has it."""
        if held is None or type(held) in (bool, str, bytes):
            return (repr(held),)
        if type(held) is int:
            return (_int(held),)
        if type(held) is float:
            return _float(held)
        if type(held) is complex:
            return _complex(held)
        if isinstance(held, Symbol):
            return self.symbol(held)
        if isinstance(held, Member):
            return self._member(held)
        if isinstance(held, DType):
            return _dtype(held)
        live = getattr(held, "live", UNKNOWN)
        if live is UNKNOWN:
            raise UnwritableError(f"{held!r}, which was read from text", "load it first")
        return self.live(live)

    def key(self, key: paths.PathKey) -> Text:
        """The text of a key of a dict."""
        plain = paths.to_dict_key(key)
        return self.live(plain) if type(plain) is tuple else self.neutral(plain)

    def symbol(self, symbol: Symbol) -> Text:
        """The text of a function or class."""
        top, dot, rest = symbol.qualname.partition(".")
        if (name := self._carried.get((symbol.module, top))) is not None:
            return (f"{name}{dot}{rest}",)
        if symbol.module in module_names.MAIN:
            why = module_names.why_main_has_no_name()
            raise UnwritableError(
                f"{symbol.qualname}, which only the running program has", why
            )
        if not symbol.importable:
            return self._carrier.text(symbol.live)
        if module_names.is_stand_in(symbol.module) and _is_nowhere(symbol.module):
            raise UnwritableError(
                f"{symbol.qualname} of a file that no other program can import",
                "give the file a name that can be imported and is not taken",
            )
        if symbol.module == "builtins":
            return (symbol.qualname,)
        return (Imported(symbol.module, symbol.qualname),)

    def live(self, value: Any) -> Text:
        """The text of any value.

        Raises:
          UnwritableError: There is none.
        """
        self._levels += 1
        try:
            if self._levels > _MAX_LEVELS:
                raise UnwritableError(
                    f"a value nested deeper than {_MAX_LEVELS} levels",
                    "make it with a function, and configure that: fdl.Config(make)",
                )
            return self._live(value)
        finally:
            self._levels -= 1

    def _live(self, value: Any) -> Text:
        held = self._names.leaf(value)
        if held is not UNKNOWN and not hasattr(held, "live"):
            return self.neutral(held)
        if isinstance(held, Symbol | Member | DType):
            return self.neutral(held)
        for kinds, write in self._WRITERS:
            if isinstance(value, kinds):
                text = write(self, value)
                if text is not None:
                    return text
        return objects.text(value, self)

    def call(
        self, called: Text, args: Iterable[Any] = (), named: dict[str, Any] | None = None
    ) -> Text:
        """The text of a call with values as arguments."""
        parts: list[Part] = [*called, "("]
        first = True
        for name, value in [*((None, v) for v in args), *(named or {}).items()]:
            parts += [] if first else [", "]
            if name is not None:
                parts.append(f"{name}=")
            parts += self.live(value)
            first = False
        return (*parts, ")")

    def type_name(self, value: Any) -> Text:
        """The text of a value's class."""
        return self.symbol(self._names.symbol(type(value)))

    def _member(self, held: Member) -> Text:
        if isinstance(held.live, enum.Flag):
            return self._flag(held.live)
        owner = self.symbol(held.enum)
        if naming.is_name(held.name):
            return (*owner, f".{held.name}")
        return (*owner, f"[{held.name!r}]")

    def _flag(self, value: enum.Flag) -> Text:
        owner = self.symbol(self._names.symbol(type(value)))
        if value.name is not None and value.name in type(value).__members__:
            return (*owner, f".{value.name}")
        members = [m for m in type(value) if m in value and m.value]
        if members and functools.reduce(lambda a, b: a | b, members) == value:
            parts: list[Part] = []
            for member in members:
                parts += [*([" | "] if parts else []), *owner, f".{member.name}"]
            return tuple(parts)
        return (*owner, f"({value.value!r})")

    def _items(self, opening: str, values: Iterable[Any], closing: str) -> Text:
        parts: list[Part] = [opening]
        for number, value in enumerate(values):
            parts += [", "] if number else []
            parts += self.live(value)
        return (*parts, closing)

    def _sequence(self, value: Any) -> Text | None:
        if type(value) is list:
            return self._items("[", value, "]")
        if type(value) is tuple:
            return self._items("(", value, ",)" if len(value) == 1 else ")")
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return self.call(self.type_name(value), (), value._asdict())
        return None

    def _set(self, value: Any) -> Text | None:
        ordered = sorted(value, key=lambda e: ranks.rank(e, self._names.leaf))
        if type(value) is set:
            return self._items("{", ordered, "}") if value else ("set()",)
        if type(value) is frozenset:
            inside = self._items("{", ordered, "}") if value else ()
            return ("frozenset(", *inside, ")")
        return None

    def _mapping(self, value: Any) -> Text | None:
        parts: list[Part] = ["{"]
        for number, (key, one) in enumerate(value.items()):
            parts += [", "] if number else []
            parts += [*self.live(key), ": ", *self.live(one)]
        inside = (*parts, "}")
        if type(value) is dict:
            return inside
        if type(value) is collections.OrderedDict:
            return (Imported("collections", "OrderedDict"), "(", *inside, ")")
        if type(value) is collections.Counter:
            return (Imported("collections", "Counter"), "(", *inside, ")")
        if type(value) is collections.defaultdict:
            make = self.live(value.default_factory)
            name = Imported("collections", "defaultdict")
            return (name, "(", *make, ", ", *inside, ")")
        if type(value) is types.MappingProxyType:
            return (Imported("types", "MappingProxyType"), "(", *inside, ")")
        return None

    def _deque(self, value: Any) -> Text | None:
        if type(value) is not collections.deque:
            return None
        name = (Imported("collections", "deque"),)
        named = {} if value.maxlen is None else {"maxlen": value.maxlen}
        return self.call(name, [list(value)], named)

    def _partial(self, value: Any) -> Text | None:
        if type(value) is not functools.partial:
            return None
        if not all(name.isidentifier() for name in value.keywords):
            return None
        name = (Imported("functools", "partial"),)
        return self.call(name, [value.func, *value.args], value.keywords)

    def _module(self, value: Any) -> Text:
        if sys.modules.get(value.__name__) is not value:
            raise UnwritableError(
                f"a module {value.__name__} that no import leads to", _PRIVATE
            )
        return (Imported(value.__name__),)

    def _path(self, value: Any) -> Text | None:
        if type(value) is type(pathlib.Path()):
            return self.call((Imported("pathlib", "Path"),), [str(value)])
        if type(value).__module__.partition(".")[0] == "pathlib":
            name = (Imported("pathlib", type(value).__name__),)
            return self.call(name, [str(value)])
        if type(value).__module__.startswith("etils."):
            return self.call((Imported("etils.epath", "Path"),), [str(value)])
        return None

    def _time(self, value: Any) -> Text | None:
        zone = getattr(value, "tzinfo", None)
        if type(value).__module__ != "datetime":
            return None
        if zone is not None and type(zone).__module__ != "datetime":
            if not isinstance(zone, zoneinfo.ZoneInfo):
                return None
            plain = self.live(value.replace(tzinfo=None))
            return (*plain, ".replace(tzinfo=", *self.live(zone), ")")
        parts: list[Part] = []
        for piece in re.split(r"\bdatetime\.(?=[a-z])", repr(value)):
            parts += [Imported("datetime"), f".{piece}"] if piece else []
        return tuple(parts)

    def _zone(self, value: Any) -> Text | None:
        if value.key is None:
            return None
        return self.call((Imported("zoneinfo", "ZoneInfo"),), [value.key])

    def _annotation(self, value: Any) -> Text | None:
        """`list[int]`, `int | None`, `Optional[int]`, `Callable[[int], str]`."""
        origin, args = typing.get_origin(value), typing.get_args(value)
        if origin is None:
            return None
        if isinstance(value, types.UnionType):
            return self._joined(args, " | ")
        if type(value) is types.GenericAlias or origin is typing.Annotated:
            head: Text = self.live(
                typing.Annotated if origin is typing.Annotated else origin
            )
        elif origin is typing.Union:
            head = (Imported("typing", "Union"),)
        elif origin is typing.Literal:
            head = (Imported("typing", "Literal"),)
        else:
            name = getattr(value, "_name", None) or getattr(origin, "__name__", "")
            head = (Imported("typing", name),)
            if not hasattr(typing, name):
                head = self.live(origin)
        if origin is collections.abc.Callable and args:
            inside = (self._items("[", args[0], "]"), self.live(args[1]))
            if args[0] is ...:
                inside = (("...",), self.live(args[1]))
            return (*head, "[", *inside[0], ", ", *inside[1], "]")
        if origin is tuple and not args:
            return (*head, "[()]")
        return (*head, "[", *self._joined(args, ", "), "]")

    def _joined(self, values: Iterable[Any], between: str) -> Text:
        parts: list[Part] = []
        for value in values:
            parts += [between] if parts else []
            parts += ("None",) if value is type(None) else self.live(value)
        return tuple(parts)

    def _slice(self, value: Any) -> Text:
        ends = [value.start, value.stop]
        return self.call(("slice",), ends if value.step is None else [*ends, value.step])

    def _range(self, value: Any) -> Text:
        if value.step != 1:
            return self.call(("range",), [value.start, value.stop, value.step])
        ends = [value.stop] if value.start == 0 else [value.start, value.stop]
        return self.call(("range",), ends)

    def _namespace(self, value: Any) -> Text | None:
        if type(value) is not types.SimpleNamespace:
            return None
        return self.call((Imported("types", "SimpleNamespace"),), (), vars(value))

    def _pattern(self, value: Any) -> Text:
        flags = re.RegexFlag(value.flags)
        if isinstance(value.pattern, str):
            flags &= ~re.UNICODE  # goes without saying
        parts: list[Part] = []
        for flag in flags:
            parts += [" | " if parts else ", ", Imported("re"), f".{flag.name}"]
        return (Imported("re"), ".compile(", *self.live(value.pattern), *parts, ")")

    def _uuid(self, value: Any) -> Text:
        return self.call((Imported("uuid", "UUID"),), [str(value)])

    def _ellipsis(self, value: Any) -> Text:
        return ("..." if value is ... else "NotImplemented",)

    def _function(self, value: Any) -> Text:
        return self._carrier.text(value)

    # The first that fits and does not answer None writes it.
    _WRITERS: tuple[tuple[Any, Callable[[Leaves, Any], Text | None]], ...] = (
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
        (types.FunctionType, _function),
        (object, _annotation),
    )


def _int(value: int) -> str:
    if value.bit_length() > _MAX_DIGITS * math.log2(10):
        return hex(value)
    return repr(value)


def _float(value: float) -> Text:
    if math.isfinite(value):
        return (repr(value),)
    if math.isnan(value):
        return (Imported("math", "nan"),)
    name = Imported("math", "inf")
    return (name,) if value > 0 else ("-", name)


def _complex(value: complex) -> Text:
    is_plain = math.isfinite(value.real) and math.isfinite(value.imag)
    has_sign = math.copysign(1, value.real) > 0 and math.copysign(1, value.imag) > 0
    if is_plain and has_sign:
        return (repr(value),)
    return ("complex(", *_float(value.real), ", ", *_float(value.imag), ")")


def _dtype(held: DType) -> Text:
    """`np.dtype("float32")`; NumPy learns of `bfloat16` and its like from JAX."""
    numpy: Any = sys.modules.get("numpy")
    live = held.live
    if numpy is None or live is UNKNOWN:
        return (Imported("numpy", "dtype"), f"({held.name!r})")
    if live.isbuiltin == 2:  # registered by `ml_dtypes`
        return (Imported("jax.numpy", "dtype"), f"({held.name!r})")
    if numpy.dtype(held.name) == live:
        return (Imported("numpy", "dtype"), f"({held.name!r})")
    return (Imported("numpy", "dtype"), f"({live.str!r})")  # of another byte order


def _is_nowhere(module: str) -> bool:
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        return False
    return not module_names.leads_to(module, pathlib.Path(file).resolve())
