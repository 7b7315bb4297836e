"""Names of a file looked up under the rules of what is allowed, each once."""

from __future__ import annotations

import enum
import importlib
import inspect
import sys
from collections.abc import Collection, Iterator
from typing import Any

from fdlkit.errors import is_interrupt
from fdlkit.graph import (
    arrays,
    members,
    messages,
    module_names,
    names,
    value_kinds,
    values,
)
from fdlkit.graph.model import UNKNOWN, Array, DType, Made, Member, Symbol
from fdlkit.serialize import nearby
from fdlkit.serialize.allowed import NAMES, OWN_PACKAGES
from fdlkit.serialize.parameters import unknown_parameters

Held = Symbol | Member | DType | Made | Array


class _NotUsableError(Exception):
    """A name that is not allowed, or that leads to nothing that can be used."""


class Lookup:
    """Looks names up, each once.

    Attributes:
      refused: Modules that a user might allow: neither Python's own nor such of which
        some names are listed.
      has_stale: Whether a name was looked for, and is not there any more.
    """

    def __init__(self, allow: Collection[str]):
        self.refused: set[str] = set()
        self.has_stale = False
        self._allow = frozenset(allow)
        self._found: dict[Held, Any] = {}
        self._wrong: dict[Held, str] = {}

    def problems(self, held: Any) -> Iterator[str]:
        """Why a name or value cannot be used; nothing for what can, or is plain."""
        if not isinstance(held, Held) or held.live is not UNKNOWN:
            return
        if held not in self._found and held not in self._wrong:
            try:
                self._found[held] = self._look_up(held)
            except _NotUsableError as error:
                self._wrong[held] = str(error)
        if held in self._wrong:
            yield self._wrong[held]

    def resolve(self, held: Any) -> Any:
        """What `problems` has found good, as a program uses it.

        A value that can be changed is a new one each time.
        """
        if not isinstance(held, Held):
            return held
        if held.live is not UNKNOWN:
            return held.live
        if isinstance(held, Made):
            return values.make(held, self.resolve)
        if isinstance(held, Array):
            return arrays.make(held)
        return self._found[held]

    def _look_up(self, held: Held) -> Any:
        if isinstance(held, Made):
            return self._check_made(held)
        try:
            if isinstance(held, DType):
                return arrays.numpy_dtype(held.name)
            if isinstance(held, Array):
                return arrays.make(held)
        except arrays.ArrayError as error:
            raise _NotUsableError(str(error)) from None
        return self._symbol(held) if isinstance(held, Symbol) else self._member(held)

    def _member(self, member: Member) -> enum.Enum:
        found = self._symbol(member.enum)
        if not (inspect.isclass(found) and issubclass(found, enum.Enum)):
            raise _NotUsableError(f"{member.enum.name} is no enum")
        try:
            return members.find(found, member.name)
        except members.MemberError as error:
            self.has_stale = True
            raise _NotUsableError(f"{member.enum.name} has {error}") from None

    def _check_made(self, made: Made) -> None:
        """Whether a value can be made; it is made anew wherever it stands."""
        wrong = [
            problem for part in values.symbols(made) for problem in self.problems(part)
        ]
        if not wrong and (made.type.module, made.type.qualname) == value_kinds.PARTIAL:
            wrong = list(self._partial_problems(made))
        if wrong:
            raise _NotUsableError("; ".join(dict.fromkeys(wrong)))
        try:
            values.make(made, self.resolve)
        except values.MakingError as error:
            self.has_stale = self.has_stale or not values.is_known(made.type)
            raise _NotUsableError(str(error)) from None
        except ValueError as error:
            raise _NotUsableError(str(error)) from None

    def _partial_problems(self, made: Made) -> Iterator[str]:
        """Names that a partial passes on and that its function does not take."""
        function = made.arguments[0][1] if made.arguments else None
        if not isinstance(function, Symbol):
            yield "a functools.partial of nothing that has a name"
            return
        named = [key for key, _ in made.arguments if isinstance(key, str)]
        if not named:
            return
        found = list(unknown_parameters(function.name, self.resolve(function), named))
        self.has_stale = self.has_stale or bool(found)
        yield from found

    def _symbol(self, symbol: Symbol) -> Any:
        if not self._is_allowed(symbol):
            raise _NotUsableError(self._not_allowed(symbol))
        found = self._reach(symbol)
        if not (isinstance(found, enum.Enum) or self._is_named(symbol)):
            raise _NotUsableError(self._not_allowed(symbol))
        # What a module imported from elsewhere answers to its own name, not to this.
        # A member of an enum is reached by way of its class, which is its own.
        what = type(found) if isinstance(found, enum.Enum) else found
        own = names.find(what)
        qualname = symbol.qualname
        if isinstance(found, enum.Enum):
            qualname = qualname.rpartition(".")[0]
        written = Symbol(symbol.module, qualname)
        if own != written and names.defined_as(what) != (symbol.module, qualname):
            really = f", it is {own.module}:{own.qualname}" if own else ""
            raise _NotUsableError(f"{symbol.name} is not defined there{really}")
        return found

    def _reach(self, symbol: Symbol) -> Any:
        module = found = self._module(symbol.module)
        at = symbol.module
        for part in symbol.qualname.split("."):
            is_open = found is module or inspect.isclass(found)
            if not is_open and symbol.qualname not in NAMES.get(symbol.module, ()):
                raise _NotUsableError(f"{at} is no class, to have '{part}' in it")
            if part not in dir(found):
                self.has_stale = True
                near = nearby.name(symbol, found, part, self._is_allowed)
                raise _NotUsableError(f"{at} has no '{part}'" + near)
            found, at = getattr(found, part), f"{at}.{part}"
        if inspect.ismodule(found):
            raise _NotUsableError(f"{at} is a module")
        return found

    def _module(self, name: str) -> Any:
        if name not in sys.modules and name == module_names.main_name():
            return sys.modules["__main__"]  # importing it would run the program again
        try:
            return importlib.import_module(name)
        except ImportError as error:
            self.has_stale = True
            why = f"{name} cannot be imported: {error}" + nearby.module(name)
            if module_names.is_stand_in(name):
                why += (
                    "; such a name stands for a file whose own name cannot be "
                    "imported, or is another module's: rename that file, and write "
                    "the JSON again"
                )
            raise _NotUsableError(why) from None
        except BaseException as error:  # a module may raise anything
            if is_interrupt(error):
                raise
            what = messages.raised(f"importing {name}", error)[0]
            raise _NotUsableError(what) from error

    def _not_allowed(self, symbol: Symbol) -> str:
        package = symbol.module.partition(".")[0]
        if package not in sys.stdlib_module_names and symbol.module not in NAMES:
            self.refused.add(symbol.module)
        what = f"{symbol.module}:{symbol.qualname} is not allowed"
        return what + nearby.listed(symbol)

    def _is_allowed(self, symbol: Symbol) -> bool:
        """Whether the name may be looked up; by way of a class, for a member of it."""
        if any(_is_dunder(part) for part in symbol.qualname.split(".")):
            return False
        outer = Symbol(symbol.module, symbol.qualname.rpartition(".")[0])
        return self._is_named(symbol) or self._is_named(outer)

    def _is_named(self, symbol: Symbol) -> bool:
        """Whether the name itself is allowed."""
        if not symbol.qualname:
            return False
        if symbol.module in self._allow:
            return True
        if symbol.qualname in NAMES.get(symbol.module, ()):
            return True
        is_private = any(part.startswith("_") for part in symbol.name.split("."))
        return not is_private and any(
            symbol.module == package or symbol.module.startswith(f"{package}.")
            for package in OWN_PACKAGES
        )


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")
