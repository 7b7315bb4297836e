"""Where a name leads: to a definition that is carried, or to an import that stays."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import site
import sys
import sysconfig
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from fdlkit.codegen.carry import modules
from fdlkit.codegen.carry.modules import Imported, Module, Statement
from fdlkit.codegen.carry.scopes import Use

HOUSE = "fdlkit"
# The rooms of the house that know no Fiddle; whatever uses another makes configs.
PLAIN_ROOMS = frozenset(
    {
        "train",
        "nn",
        "data",
        "sharding",
        "keys",
        "errors",
        "suggest",
        "printable",
        "eject",
    }
)


@dataclasses.dataclass(frozen=True)
class Definition:
    """A name that an own module defines at top level."""

    module: str
    name: str


@dataclasses.dataclass(frozen=True)
class OwnModule:
    """An own module as a value."""

    name: str


@dataclasses.dataclass(frozen=True)
class External:
    """What imports from other packages bind; several `import a.b` bind one name."""

    imports: tuple[Imported, ...]

    @property
    def top(self) -> str:
        """The package."""
        return self.imports[0].module.partition(".")[0]


Home = Definition | OwnModule | External


# What stands where a shape was.
ARRAY = External((Imported("jax", None, "jax"),))


@dataclasses.dataclass(frozen=True)
class Found:
    """Where a use leads, and how many of its attributes were spent on the way."""

    home: Home
    spent: int


class Homes:
    """Reads modules once and follows names through them.

    Args:
      twins: Of definitions that stand for others of the house: the module, by name.
    """

    def __init__(self, twins: Mapping[str, str] | None = None):
        self._twins = dict(twins or {})
        self._modules: dict[str, Module] = {}
        self._own: dict[str, bool] = {}
        self._libraries = _library_folders()

    def module(self, name: str) -> Module:
        """An own module."""
        if name not in self._modules:
            self._modules[name] = modules.read(name)
        return self._modules[name]

    def read_order(self) -> list[str]:
        """The modules in the order in which they were first asked for."""
        return list(self._modules)

    def is_own(self, name: str) -> bool:
        """Whether a module is of the house or of the user, not of a library."""
        if name not in self._own:
            self._own[name] = self._is_own(name)
        return self._own[name]

    def _is_own(self, name: str) -> bool:
        if not name:
            return False
        if is_of(name, HOUSE):
            return True
        top = name.partition(".")[0]
        if top in sys.stdlib_module_names or top == "__main__":
            return False
        file = modules.file_of(name)
        if file is None:
            # A folder without `__init__.py` is own if what is loaded from it is.
            paths = list(getattr(sys.modules.get(name), "__path__", []))
            return bool(paths) and not any(map(self._in_library, map(Path, paths)))
        return not self._in_library(file)

    def _in_library(self, file: Path) -> bool:
        resolved = file.resolve()
        return any(folder in resolved.parents for folder in self._libraries)

    def statements(self, home: Definition) -> Sequence[Statement]:
        """All that binds the name in its module, in order."""
        module = self.module(home.module)
        return [s for s in module.statements if home.name in s.names]

    def of_use(self, module: Module, use: Use) -> Found | None:
        """Where a global name, with the attributes after it, leads; None: a builtin."""
        home = (
            self._imported([use.late])
            if use.late is not None
            else self.find(module.name, use.node.id)
        )
        spent = 0
        while isinstance(home, OwnModule) and spent < len(use.chain):
            home = self.find(home.name, use.chain[spent].attr)
            spent += 1
        return None if home is None else Found(home, spent)

    def find(self, module: str, name: str) -> Home | None:
        """What a name means at a module's top level; None: nothing, or a builtin."""
        seen: set[tuple[str, str]] = set()
        while True:
            if (module, name) in seen:
                return None
            seen.add((module, name))
            source = self.module(module)
            if any(name in s.names for s in source.statements):
                return self.twin(Definition(module, name))
            imports = source.imports.get(name)
            if imports is not None:
                first = imports[0]
                if first.name is None or not self.is_own(first.module):
                    return self._imported(imports)
                inner = f"{first.module}.{first.name}"
                if self._is_module(inner) and not self._binds(first.module, first.name):
                    return OwnModule(inner)
                module, name = first.module, first.name
                continue
            for starred in source.stars:
                if hasattr(_loaded(starred), name) and not name.startswith("_"):
                    if not self.is_own(starred):
                        return External((Imported(starred, name, name),))
                    module = starred
                    break
            else:
                return self._by_looking(source, name)

    def _binds(self, module: str, name: str) -> bool:
        """Whether a statement of a module binds a name; a mere folder has none."""
        if modules.file_of(module) is None:
            return False
        return any(name in s.names for s in self.module(module).statements)

    def _imported(self, imports: Sequence[Imported]) -> Home | None:
        first = imports[0]
        if not self.is_own(first.module):
            return External(tuple(imports))
        if first.is_whole:
            return OwnModule(first.bound)
        if first.name is None:
            return OwnModule(first.module)
        if self._is_module(f"{first.module}.{first.name}"):
            return OwnModule(f"{first.module}.{first.name}")
        return self.find(first.module, first.name)

    def _by_looking(self, source: Module, name: str) -> Home | None:
        """What the loaded module has: a submodule, or what its `__getattr__` gives."""
        inner = f"{source.name}.{name}"
        if source.is_package and self._is_module(inner):
            return OwnModule(inner)
        value = inspect.getattr_static(sys.modules.get(source.name), name, None)
        home = getattr(value, "__module__", None)
        qualname = getattr(value, "__qualname__", "")
        if not isinstance(home, str) or qualname != name or home == source.name:
            return None
        if self.is_own(home):
            return self.find(home, name)
        return External((Imported(home, name, name),))

    def twin(self, home: Definition) -> Definition:
        """What stands for a definition of the house in the file."""
        if not is_of(home.module, HOUSE) or home.name not in self._twins:
            return home
        return Definition(self._twins[home.name], home.name)

    def _is_module(self, name: str) -> bool:
        if not self.is_own(name.rpartition(".")[0]):
            return False
        return modules.file_of(name) is not None

    def makes_configs(self, home: Home) -> bool:
        """Whether it is Fiddle's, or of a room of the house that knows Fiddle."""
        if isinstance(home, External):
            return home.top == "fiddle"
        name = home.module if isinstance(home, Definition) else home.name
        if not is_of(name, HOUSE):
            return False
        room = name.split(".")[1] if "." in name else ""
        return room not in PLAIN_ROOMS and not isinstance(home, OwnModule)


def is_shape(home: Home) -> bool:
    """Whether a name of an annotation is jaxtyping's: a shape, no type of its own."""
    return isinstance(home, External) and home.top == "jaxtyping"


def is_of(name: str, package: str) -> bool:
    """Whether a module is a package or in it."""
    return name == package or name.startswith(f"{package}.")


def live(home: Definition) -> Any:
    """The object itself, from its loaded module."""
    return getattr(_loaded(home.module), home.name, None)


def _loaded(name: str) -> Any:
    return sys.modules.get(name) or importlib.import_module(name)


def _library_folders() -> Collection[Path]:
    folders = [
        *site.getsitepackages(),
        site.getusersitepackages(),
        *(sysconfig.get_path(key) for key in ("stdlib", "purelib", "platlib")),
        # Also those of an interpreter that runs on another's packages.
        *(p for p in sys.path if Path(p).name in ("site-packages", "dist-packages")),
    ]
    return {Path(folder).resolve() for folder in folders if folder}
