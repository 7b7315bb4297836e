"""What a callable's arguments look like before any of them is set."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

from fdlkit.graph import annotation, fiddle_internals, signatures
from fdlkit.graph.model import Argument, Symbol, Value
from fdlkit.graph.paths import PathKey

_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclasses.dataclass(frozen=True, slots=True)
class Blank:
    """The arguments of a callable, none of them set.

    Attributes:
      arguments: By key, in signature order, without variadic ones.
      hidden: Keys that are shown only where they are set.
      variadic_at: Where positional arguments of a `*args` go among them.
      shown: The arguments of a node that sets none.
      at: Where each argument that is set by name is among `shown`.
    """

    arguments: dict[PathKey, Argument]
    hidden: frozenset[str]
    variadic_at: int
    shown: tuple[Argument, ...]
    at: dict[PathKey, int]


def blank(
    called: Any,
    form: Callable[[Any], Value],
    symbol: Callable[[Any], Symbol],
) -> Blank:
    """The arguments of a callable.

    Args:
      called: The callable.
      form: Gives the neutral form of a default.
      symbol: Gives the symbol of what makes a default.
    """
    arguments: dict[PathKey, Argument] = {}
    variadic_at = 0
    for index, parameter in enumerate(signatures.all_parameters(called).values()):
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            variadic_at = index
        if parameter.kind in _VARIADIC:
            continue
        by_place = parameter.kind is inspect.Parameter.POSITIONAL_ONLY
        key = index if by_place else parameter.name
        has_value = parameter.default is not signatures.MISSING
        arguments[key] = Argument(
            key,
            None,
            default=form(parameter.default) if has_value else None,
            factory=parameter.factory and symbol(parameter.factory),
            required=not parameter.has_default,
            annotation=annotation.text(parameter.annotation),
        )
    hidden = set(signatures.hidden(called))
    if fiddle_internals.is_tagged_value_fn(called):
        hidden.add("tags")  # Fiddle passes it by itself
        # Its type is a type variable, which tells a reader nothing.
        value = dataclasses.replace(arguments["value"], annotation="")
        arguments["value"] = value
    shown = tuple(a for key, a in arguments.items() if key not in hidden)
    at: dict[PathKey, int]
    at = {a.key: n for n, a in enumerate(shown) if isinstance(a.key, str)}
    return Blank(arguments, frozenset(hidden), variadic_at, shown, at)
