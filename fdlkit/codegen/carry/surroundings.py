"""Where an expression stands: whose its names are, and what is known of them."""

from __future__ import annotations

import ast
import dataclasses
import functools
from collections.abc import Collection, Iterator, Mapping

from fdlkit.codegen.carry.modules import FUNCTIONS, Function
from fdlkit.codegen.carry.options import Known


@dataclasses.dataclass(frozen=True)
class Scope:
    """Where an expression stands.

    Attributes:
      cls: The class around it.
      me: What its methods call their object.
      types: Variables whose class an annotation says.
      bound: Names that are not the file's.
      function: The function around it.
      is_open: Whether it may change.
      known: Variables that are constants up to here; None: one that was, and has come
        to be something else. It changes while statements are read.
    """

    cls: str | None = None
    me: str | None = None
    types: Mapping[str, str] = dataclasses.field(default_factory=dict)
    bound: frozenset[str] = frozenset()
    function: Function | None = None
    is_open: bool = True
    known: dict[str, Known | None] = dataclasses.field(default_factory=dict)

    def hiding(self, names: Collection[str]) -> Scope:
        """The same where these are other variables."""
        return dataclasses.replace(
            self,
            me=self.me if self.me not in names else None,
            types={k: v for k, v in self.types.items() if k not in names},
            bound=self.bound | frozenset(names),
            known={k: v for k, v in self.known.items() if k not in names},
        )


@functools.lru_cache(4096)
def bound_in(function: ast.AST) -> frozenset[str]:
    """The variables of a function, its parameters left out."""
    found = set()
    for node in _own_nodes(function):
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return frozenset(found)


def is_stored_once(function: ast.AST, name: str) -> bool:
    """Whether a variable gets but one value in all of a function."""
    stores = [
        n
        for n in ast.walk(function)
        if isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Load)
    ]
    return len(stores) == 1


def is_read_inside(function: ast.AST, name: str) -> bool:
    """Whether a function inside a function reads a variable of it."""
    return any(
        isinstance(inner, ast.Name) and inner.id == name
        for node in _own_nodes(function)
        if isinstance(node, (*FUNCTIONS, ast.Lambda))
        for inner in ast.walk(node)
    )


def _own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """What is in a function, but not in the functions inside it."""
    body = getattr(function, "body", [])
    todo = list(body) if isinstance(body, list) else [body]
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
            todo.extend(ast.iter_child_nodes(node))
