"""A parameter's type as a reader would write it."""

from __future__ import annotations

import collections.abc
import inspect
import sys
import types
import typing
from typing import Any

# Unions that a reader knows by a name, which `typing` forgets. The modules are not
# imported for it: an annotation that uses one comes from a module that has loaded it.
_ALIASES = (
    ("optax", "ScalarOrSchedule"),
    ("jax.typing", "ArrayLike"),
    ("jax.typing", "DTypeLike"),
)


def text(annotation: Any) -> str:
    """`int`, `float | None`, `tuple[int, ...]`, `Callable`; `""` if there is none."""
    if annotation is inspect.Parameter.empty:
        return ""
    if isinstance(annotation, str):
        return annotation
    if annotation is None or annotation is types.NoneType:
        return "None"
    if annotation is Ellipsis:
        return "..."
    origin = typing.get_origin(annotation)
    arguments = typing.get_args(annotation)
    if origin is typing.Annotated:
        return text(arguments[0])
    if origin in (typing.Union, types.UnionType):
        return " | ".join(_union(arguments))
    if origin is typing.Literal:
        return f"Literal[{', '.join(map(repr, arguments))}]"
    if origin is collections.abc.Callable:
        return "Callable"
    if origin is not None:
        inner = ", ".join(text(argument) for argument in arguments)
        return f"{_name(origin)}[{inner}]" if inner else _name(origin)
    return _name(annotation)


def _union(members: tuple[Any, ...]) -> list[str]:
    """The members' texts, those of a well-known union together under its name."""
    left = list(members)
    named = []
    for module, name in _ALIASES:
        alias = typing.get_args(getattr(sys.modules.get(module), name, None))
        if alias and all(member in left for member in alias):
            named.append(name)
            left = [member for member in left if member not in alias]
    return [*named, *dict.fromkeys(text(member) for member in left)]


def _name(annotation: Any) -> str:
    name = getattr(annotation, "__qualname__", None) or getattr(
        annotation, "__name__", None
    )
    if isinstance(name, str):
        return name.rpartition(".")[2]
    return repr(annotation).removeprefix("typing.").lstrip("~")
