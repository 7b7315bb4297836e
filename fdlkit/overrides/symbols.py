"""Names of functions and classes in a user's text: looked up, never evaluated."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import inspect
import itertools
import os
import re
import sys
import types
from collections.abc import Iterator
from typing import Any

from fdlkit import suggest, tracebacks
from fdlkit.errors import is_interrupt
from fdlkit.graph import fiddle_internals, messages
from fdlkit.overrides.problems import BadTextError, quote

_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_QUALIFIED = re.compile(r"(?P<module>[A-Za-z_][\w.]*):(?P<name>[A-Za-z_][\w.]*)")


def is_name(text: str) -> bool:
    """Whether the text is written like a symbol: `a.b.c` or `pkg.mod:Name`."""
    return bool(_DOTTED.fullmatch(text) or _QUALIFIED.fullmatch(text))


@dataclasses.dataclass(frozen=True)
class Scope:
    """The modules in which a bare name is looked for, the nearest first.

    Attributes:
      modules: The experiment's own module, then those that stand behind it.
    """

    modules: tuple[types.ModuleType, ...] = ()

    def beside(self, thing: object) -> Scope:
        """The same scope, then the module that defines `thing` and the packages of it.

        Public ones first, from the inside out: what a library keeps in a private
        module is meant to be named by the package.
        """
        name = getattr(thing, "__module__", None)
        if not isinstance(name, str):
            return self
        public = list(
            itertools.takewhile(lambda part: not part.startswith("_"), name.split("."))
        )
        names = [".".join(public[:end]) for end in range(len(public), 0, -1)]
        extra = dict.fromkeys(n for n in (*names, name) if n in sys.modules)
        found = [sys.modules[n] for n in extra]
        return Scope((*self.modules, *(m for m in found if m not in self.modules)))

    def find(self, text: str, kind: str = "function or class") -> Any:
        """What `text` names; columns in the error count from the text's start.

        Raises:
          BadTextError: Nothing has this name; the likeliest names are suggested.
        """
        if qualified := _QUALIFIED.fullmatch(text):
            return self._qualified(qualified)
        if not _DOTTED.fullmatch(text):
            raise BadTextError(
                f"{quote(text)} is not the name of a {kind}", (0, len(text)), more=FORMS
            )
        first, *rest = text.split(".")
        for module in self.modules:
            found = vars(module).get(first, _ABSENT)
            if found is not _ABSENT:
                found = _loaded(found, (0, len(first)))
                return _walk(found, rest, text, len(first), kind)
        if rest and (spelling := _with_a_colon(text)):
            raise BadTextError(
                f"no {kind} {quote(text)} in {self._where()}",
                (0, len(text)),
                hint=suggest.did_you_mean(spelling) or "",
            )
        raise self._unknown(text, first, kind)

    def _where(self) -> str:
        return self.modules[0].__name__ if self.modules else "no module"

    def _qualified(self, match: re.Match[str]) -> Any:
        module_name, name = match["module"], match["name"]
        module = _imported(module_name, match.span("module"))
        first, *rest = name.split(".")
        start = match.start("name")
        if first not in vars(module) and not hasattr(module, first):
            raise BadTextError(
                f"no '{first}' in module {module_name}",
                (start, start + len(first)),
                hint=suggest.hint(first, public_names(module)) or "",
            )
        found = getattr(module, first)
        return _walk(found, rest, match[0], start + len(first), name)

    def _unknown(self, text: str, first: str, kind: str) -> BadTextError:
        candidates = [name for m in self.modules for name in public_names(m)]
        near = suggest.hint(first, candidates) or ""
        return BadTextError(
            f"no {kind} {quote(first)} in {self._where()}",
            (0, len(first)),
            hint=near,
            more=() if near else FORMS,
        )


FORMS = ("write a name that the experiment's file can see, or package.module:Name",)
_ABSENT = object()


def public_names(value: object) -> list[str]:
    """The public callables (and the modules) that may be named inside `value`."""
    return [name for name, found in _members(value) if _is_nameable(found)]


def is_callable_symbol(value: object) -> bool:
    """A function, a class, or a library's wrapper of one; not a built object.

    `jax.nn.relu` is an instance with a `__name__`; a Flax module that was built is
    callable too, but has none.
    """
    if inspect.isclass(value):
        return True
    if inspect.ismethod(value):  # a classmethod's owner is a class, else an object
        return inspect.isclass(value.__self__)
    return callable(value) and isinstance(getattr(value, "__name__", None), str)


def _imported(name: str, span: tuple[int, int]) -> types.ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise BadTextError(f"cannot import '{name}': {error}", span) from error
    except BaseException as error:  # a module may raise anything
        if is_interrupt(error):
            raise
        what, *more = messages.raised(f"importing '{name}'", error)
        frames = tracebacks.own_frames(error)
        own = tuple(line.removeprefix("  ") for line in (*more, *frames))
        raise BadTextError(what, span, more=own) from error


def _loaded(found: Any, span: tuple[int, int]) -> Any:
    """What a name stands for that the experiment's file imports lazily."""
    lazy = fiddle_internals.lazy_qualname(found)
    if lazy is None:
        return found
    parent, _, own = lazy.rpartition(".")
    if parent and own in vars(_imported(parent, span)):  # from pkg.mod import Name
        return vars(sys.modules[parent])[own]
    return _imported(lazy, span)


def _members(value: object) -> Iterator[tuple[str, object]]:
    for name, found in list(getattr(value, "__dict__", {}).items()):
        if isinstance(name, str) and not name.startswith("_"):
            yield name, found


def _is_nameable(value: object) -> bool:
    return isinstance(value, types.ModuleType) or is_callable_symbol(value)


def _with_a_colon(text: str) -> str | None:
    """`pkg.mod:Name` for `pkg.mod.Name` of a package that is there, not imported."""
    parts = text.split(".")
    for end in range(len(parts) - 1, 0, -1):
        module = ".".join(parts[:end])
        if (loaded := sys.modules.get(module)) is not None:
            near = suggest.nearest(parts[end], public_names(loaded), n=1)
            if near:
                return f"{module}:{'.'.join([*near, *parts[end + 1 :]])}"
        elif _is_in_a_package(parts[:end]):
            return f"{module}:{'.'.join(parts[end:])}"
    try:
        there = importlib.util.find_spec(parts[0]) is not None
    except (ImportError, ValueError):
        return None
    return f"{'.'.join(parts[:-1])}:{parts[-1]}" if there else None


def _is_in_a_package(parts: list[str]) -> bool:
    """Whether a module that is not loaded stands in a package that is."""
    for end in range(len(parts) - 1, 0, -1):
        package = sys.modules.get(".".join(parts[:end]))
        for folder in getattr(package, "__path__", ()):
            below = os.path.join(folder, *parts[end:])
            if os.path.isfile(f"{below}.py"):
                return True
            if os.path.isfile(os.path.join(below, "__init__.py")):
                return True
    return False


def _walk(found: Any, names: list[str], text: str, end: int, kind: str) -> Any:
    """Follows attributes through modules and classes, nothing else."""
    shown = text[:end]
    for name in names:
        start, end = end + 1, end + 1 + len(name)
        if not isinstance(found, types.ModuleType) and not inspect.isclass(found):
            raise BadTextError(
                f"'{shown}' is neither a module nor a class", (start, end), more=FORMS
            )
        try:
            found = getattr(found, name)
        except AttributeError:
            raise BadTextError(
                f"no '{name}' in {shown}",
                (start, end),
                hint=suggest.hint(name, public_names(found)) or "",
            ) from None
        shown = text[:end]
    return found
