"""Who asks for devices while a config is made: such a config differs by machine.

JAX is neither imported nor started for this. All its functions that tell of devices and
processes go through `get_backend` of one module; a wrapper stands before that while a
`Watch` lasts, at once if JAX is loaded, else as soon as something loads it. The public
functions themselves are left alone, because a config may hold them: `fdl.Config(
jax.devices)` asks when it is built, which is what it should do.

What cannot be seen: what JAX remembers of a second question of the same kind, other
threads, and whatever a subprocess says.
"""

from __future__ import annotations

import dataclasses
import importlib.abc
import importlib.machinery
import os
import sys
import threading
import types
from collections.abc import Callable, Sequence
from typing import Any

from fdlkit import tracebacks

# It is not public, but there is no public place that every question passes.
_BRIDGE = "jax._src.xla_bridge"
_GATE = "get_backend"

# What JAX has to say of the machine that a program runs on, and where that is found.
# Other functions look at the devices too, such as `jnp.zeros`, but do not tell of them.
_TELLING = {
    "create_device_mesh": "jax.experimental.mesh_utils",
    "create_hybrid_device_mesh": "jax.experimental.mesh_utils",
    "default_backend": "jax",
    "device_count": "jax",
    "devices": "jax",
    "local_device_count": "jax",
    "local_devices": "jax",
    "make_mesh": "jax",
    "process_count": "jax",
    "process_index": "jax",
    "process_indices": "jax",
}
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
        if "jax" in sys.modules:
            self._begin()
        else:
            self._finder = _JaxFinder(self._begin)
            sys.meta_path.insert(0, self._finder)
        return self

    def __exit__(self, *_: object) -> None:
        self._thread = 0
        if self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)
        bridge = sys.modules.get(_BRIDGE)
        gate = getattr(bridge, _GATE, None)
        # Another watch may stand around this one, or have ended before it.
        while isinstance(gate, _Gate) and not gate.watch.is_on:
            gate = gate.function
            setattr(bridge, _GATE, gate)

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
            f"{', '.join(places)}; so it may differ from machine to machine\n"
            "  write a mesh axis of -1 for all devices, a reference "
            '(fdlkit.ref("PATH")) for a value that follows another,\n'
            "  or an argument of the function for what only the caller knows"
        )

    def look(self, gate: types.FrameType | None) -> None:
        """Notes who asked, if it was a question, from the stack at the gate."""
        if threading.get_ident() != self._thread:
            return
        jax = sys.modules.get("jax")
        inside = os.path.join(os.path.dirname(getattr(jax, "__file__", None) or ""), "")
        frame, function = gate, ""
        while frame is not None and frame.f_code.co_filename.startswith(inside):
            function = frame.f_code.co_name
            frame = frame.f_back
        if function not in _TELLING:
            return
        while frame is not None:
            file = frame.f_code.co_filename
            if file.startswith("<frozen importlib"):
                return  # a library that asks as it is imported: no one's config
            if tracebacks.is_users(file) and os.path.isfile(file):
                name = f"{_TELLING[function]}.{function}"
                self._questions[Question(file, frame.f_lineno, name)] = None
                return
            frame = frame.f_back

    def _begin(self) -> None:
        bridge = sys.modules.get(_BRIDGE)
        gate = getattr(bridge, _GATE, None)
        if gate is None:
            return
        # Their answers are kept, so that a second question would not pass the gate.
        for name in _TELLING:
            forget = getattr(getattr(bridge, name, None), "cache_clear", None)
            if forget is not None:
                forget()
        setattr(bridge, _GATE, _Gate(gate, self))


class _Gate:
    """What every question passes: tells a watch of it, then does what it did before."""

    def __init__(self, function: Any, watch: Watch):
        self.function = function
        self.watch = watch

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.watch.is_on:
            self.watch.look(sys._getframe(1))
        return self.function(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.function, name)


class _JaxFinder(importlib.abc.MetaPathFinder):
    """Tells when `jax` has been imported; finds nothing else, and nothing by itself."""

    def __init__(self, loaded: Callable[[], None]):
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

    def __init__(self, loader: Any, loaded: Callable[[], None]):
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
        self._loaded()
