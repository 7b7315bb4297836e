"""Values with nothing of a config in them, as expressions that make them again."""

from __future__ import annotations

import enum
import functools
import math
import pathlib
import sys
import types
from collections.abc import Iterable, Mapping
from typing import Any

from fdlkit.codegen import naming, notations, objects
from fdlkit.codegen.carrying import Carrier
from fdlkit.codegen.program import Definition, Imported, Part, Text
from fdlkit.codegen.refusals import UnwritableError
from fdlkit.graph import module_names, names, paths
from fdlkit.graph.model import UNKNOWN, DType, Leaf, Member, Symbol

# What a value holds is written by recursion, which a person could not read deeper.
_MAX_LEVELS = 50

# From here on Python refuses to write an int in decimal.
_MAX_DIGITS = 4000


class Leaves:
    """Writes values; remembers their names, for as long as one program is written."""

    def __init__(self, carried: Mapping[tuple[str, str], str] | None = None) -> None:
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
            raise UnwritableError(
                f"{held!r}, which was read from text", "load it first"
            )
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
        if isinstance(value, types.FunctionType):
            return self._carrier.text(value)
        written = notations.text(value, self)
        return objects.text(value, self) if written is None else written

    def neutral_form(self, value: Any) -> Any:
        """What a graph has for a value that has nothing below it."""
        return self._names.leaf(value)

    def call(
        self,
        called: Text,
        args: Iterable[Any] = (),
        named: dict[str, Any] | None = None,
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
