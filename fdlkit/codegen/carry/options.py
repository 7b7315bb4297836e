"""Options of a program: fields and parameters that may all be left as they are.

An option is a field of a dataclass or of a Flax module, or a parameter of a function or
method, with a constant for its default. `program` finds them, `folding` finds out which
of them nobody sets, and which of those can go.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

Kind = Literal["field", "parameter", "local", "result"]


@dataclasses.dataclass(frozen=True)
class Option:
    """What may be a constant everywhere.

    Attributes:
      kind: A field, a parameter, a variable that is a constant, or what a function
        returns.
      owner: The class; the function, or `.name` for methods of a name; of a variable,
        where its function stands.
      name: Its name.
    """

    kind: Kind
    owner: str
    name: str


@dataclasses.dataclass(frozen=True)
class Known:
    """What an expression comes to.

    Attributes:
      value: The value.
      because: The options that say so; none: it is a constant as it is written.
    """

    value: Any
    because: frozenset[Option] = frozenset()

    def same(self, other: Known | None) -> bool:
        """Whether it is of the same type and value."""
        return (
            other is not None
            and type(other.value) is type(self.value)
            and bool(other.value == self.value)
        )

    @property
    def is_empty(self) -> bool:
        """Whether it is a container of nothing."""
        return isinstance(self.value, tuple | list | dict | str) and not self.value


_FACTORIES: Mapping[str, Any] = {"dict": {}, "list": [], "tuple": ()}


def constant(node: ast.expr | None) -> Known | None:
    """What an expression without names comes to."""
    match node:
        case ast.Constant(value=value) if value is not Ellipsis:
            return Known(value)
        case ast.Tuple(elts=elts) if all(isinstance(e, ast.Constant) for e in elts):
            return Known(ast.literal_eval(node))
        case ast.List(elts=[]):
            return Known([])
        case ast.Dict(keys=[]):
            return Known({})
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=float() | int())):
            return Known(ast.literal_eval(node))
        case ast.Call(func=func, args=[], keywords=[ast.keyword() as made]) if (
            ast.unparse(func) in ("dataclasses.field", "field")
            and made.arg == "default_factory"
            and ast.unparse(made.value) in _FACTORIES
        ):
            return Known(_FACTORIES[ast.unparse(made.value)])
    return None
