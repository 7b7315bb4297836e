"""The package's modules as the house rules see them: parsed, never imported."""

from __future__ import annotations

import ast
import dataclasses
import pathlib
from collections.abc import Iterator

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# A room that is not here is of the hall, which knows both wings.
WINGS = {
    **dict.fromkeys(
        ("train", "nn", "data", "sharding", "keys", "key_guesses", "eject"), "training"
    ),
    **dict.fromkeys(
        (
            *("flags", "view", "completion", "diff", "overrides"),
            *("serialize", "targets", "graph"),
        ),
        "config",
    ),
    **dict.fromkeys(
        ("errors", "printable", "suggest", "tracebacks", "user_cache", "whole_file"),
        "common",
    ),
    "": "face",
}


def wing_of(name: str) -> str:
    """The wing that a dotted name is in; `outside` for other packages' names."""
    package, _, rest = name.partition(".")
    if package != "fdlkit":
        return "outside"
    return WINGS.get(rest.partition(".")[0], "hall")


@dataclasses.dataclass(frozen=True)
class Import:
    """One imported module or name, as a dotted path.

    Attributes:
      name: `jax.numpy` for `import jax.numpy`, `jax.numpy.tanh` for
        `from jax.numpy import tanh`.
      bound: The name that the module uses for it from then on.
      line: The line of the statement.
      in_function: Whether it runs when a function is called, not when the module
        is imported.
    """

    name: str
    bound: str
    line: int
    in_function: bool

    @property
    def wing(self) -> str:
        return wing_of(self.name)

    def within(self, package: str) -> bool:
        """Whether this is the package itself or something in it."""
        return f"{self.name}.".startswith(f"{package}.")


@dataclasses.dataclass(frozen=True)
class Source:
    """One module: its dotted name, its path from the repo's root, its text."""

    module: str
    path: str
    text: str = dataclasses.field(repr=False)

    @property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def wing(self) -> str:
        return wing_of(self.module)

    @property
    def imports(self) -> list[Import]:
        return list(_imports(self.tree, in_function=False))


def _imports(node: ast.AST, *, in_function: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Import(names=names):
                for alias in names:
                    bound = alias.asname or alias.name.partition(".")[0]
                    yield Import(alias.name, bound, child.lineno, in_function)
            case ast.ImportFrom(module=module, names=names, level=level):
                package = "." * level + (module or "")
                for alias in names:
                    name, bound = f"{package}.{alias.name}", alias.asname or alias.name
                    yield Import(name, bound, child.lineno, in_function)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                yield from _imports(child, in_function=True)
            case _:
                yield from _imports(child, in_function=in_function)


def _module_name(path: pathlib.Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.fixture(scope="session")
def root() -> pathlib.Path:
    return ROOT


@pytest.fixture(scope="session")
def house() -> list[Source]:
    """Every module of `fdlkit`, by path."""
    paths = sorted((ROOT / "fdlkit").rglob("*.py"))
    assert paths, "there is no package to check"
    return [
        Source(_module_name(path), str(path.relative_to(ROOT)), path.read_text())
        for path in paths
    ]


@pytest.fixture(scope="session")
def training_wing(house: list[Source]) -> list[Source]:
    return [source for source in house if source.wing == "training"]


@pytest.fixture(scope="session")
def config_wing(house: list[Source]) -> list[Source]:
    return [source for source in house if source.wing == "config"]


@pytest.fixture(scope="session")
def written():
    """Makes a module from text, for trying a rule on what it must refuse."""

    def make(text: str, module: str = "fdlkit.nn.example") -> Source:
        return Source(module, module.replace(".", "/") + ".py", text)

    return make
