"""Who asks for devices while a config is made: such a config differs by machine.

JAX is neither imported nor started for this. Its public functions that tell of
devices are replaced by wrappers while a `Watch` lasts, at once if JAX is loaded, else
as soon as something loads it.

What cannot be seen: a function that was taken out of `jax` before the watch began
(`from jax import devices` in a module that is loaded already), JAX's private modules,
other threads, and whatever a subprocess says.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.abc
import importlib.machinery
import os
import sys
import threading
import types
from collections.abc import Callable, Sequence
from typing import Any

from fdlkit import tracebacks

# What `jax` has to say of the machine that a program runs on.
_TELLING = (
    "default_backend",
    "device_count",
    "devices",
    "local_device_count",
    "local_devices",
    "make_mesh",
    "process_count",
    "process_index",
    "process_indices",
)
_MAX_PLACES = 3


@dataclasses.dataclass(frozen=True)
class Question:
    """One place of a user's file at which JAX was asked.

    Attributes:
      file: The file of the user's innermost frame.
      line: The line in it.
      function: What was called: `jax.device_count`.
    """

    file: str
    line: int
    function: str


class Watch:
    """Notes who asks JAX about devices, in this thread, while it lasts.

    Example:
      with Watch() as watch:
        cfg = load(target)
      print(watch.note())
    """

    def __init__(self) -> None:
        self._questions: dict[Question, None] = {}
        self._thread = 0
        self._finder: _JaxFinder | None = None

    def __enter__(self) -> Watch:
        self._thread = threading.get_ident()
        jax = sys.modules.get("jax")
        if jax is None:
            self._finder = _JaxFinder(self._wrap)
            sys.meta_path.insert(0, self._finder)
        else:
            self._wrap(jax)
        return self

    def __exit__(self, *_: object) -> None:
        self._thread = 0
        if self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)
        jax = sys.modules.get("jax")
        for name in _TELLING if jax is not None else ():
            found = vars(jax).get(name)
            # Another watch may stand around this one, or have ended before it.
            while isinstance(found, _Wrapper) and not found.watch.is_on:
                found = found.function
            if found is not None and found is not vars(jax).get(name):
                setattr(jax, name, found)

    @property
    def is_on(self) -> bool:
        """Whether it has begun and has not ended."""
        return self._thread != 0

    @property
    def questions(self) -> tuple[Question, ...]:
        """What was asked, each once, in the order in which it was."""
        return tuple(self._questions)

    def note(self) -> str | None:
        """What to tell the user; None if nobody asked."""
        if not self._questions:
            return None
        places = [
            f"{tracebacks.shown_path(q.file)}:{q.line} ({q.function})"
            for q in self._questions
        ]
        if len(places) > _MAX_PLACES:
            places[_MAX_PLACES:] = [f"{len(places) - _MAX_PLACES} more"]
        return (
            "JAX was asked about devices while the config was made, at "
            f"{', '.join(places)}; so it differs from machine to machine\n"
            "  write a mesh axis of -1 for all devices, a reference "
            '(fdlkit.ref("PATH")) for a value that follows another,\n'
            "  or an argument of the function for what only the caller knows"
        )

    def ask(self, function: str) -> None:
        """Notes that a function was called, by whoever is up the stack."""
        if threading.get_ident() != self._thread:
            return
        frame = sys._getframe(1)
        while frame is not None:
            file = frame.f_code.co_filename
            if file.startswith("<frozen importlib"):
                return  # a library that asks as it is imported: no one's config
            if tracebacks.is_users(file) and os.path.isfile(file):
                self._questions[Question(file, frame.f_lineno, function)] = None
                return
            frame = frame.f_back  # type: ignore[assignment]

    def _wrap(self, jax: types.ModuleType) -> None:
        for name in _TELLING:
            function = vars(jax).get(name)
            if callable(function):
                setattr(jax, name, _Wrapper(function, f"jax.{name}", self))


class _Wrapper:
    """A function of JAX's that tells a watch of its callers while that is on.

    One that a user's module has kept goes on doing what the function does.
    """

    def __init__(self, function: Callable[..., Any], name: str, watch: Watch):
        functools.update_wrapper(self, function)
        self.function = function
        self.name = name
        self.watch = watch

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.watch.is_on:
            self.watch.ask(self.name)
        return self.function(*args, **kwargs)


class _JaxFinder(importlib.abc.MetaPathFinder):
    """Tells when `jax` has been imported; finds nothing else, and nothing by itself."""

    def __init__(self, loaded: Callable[[types.ModuleType], None]):
        self._loaded = loaded

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: types.ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != "jax":
            return None
        for finder in sys.meta_path:
            if finder is not self:
                spec = finder.find_spec(fullname, path, target)
                if spec is not None:
                    if spec.loader is not None:
                        spec.loader = _Telling(spec.loader, self._loaded)
                    return spec
        return None


class _Telling(importlib.abc.Loader):
    """Loads as another loader does, leaves that one in the module, and tells."""

    def __init__(self, loader: Any, loaded: Callable[[types.ModuleType], None]):
        self._loader = loader
        self._loaded = loaded

    def create_module(
        self, spec: importlib.machinery.ModuleSpec
    ) -> types.ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: types.ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._loaded(module)
