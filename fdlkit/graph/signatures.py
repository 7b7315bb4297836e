"""What a callable can be told: its parameters, their types and defaults."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
import typing
from collections.abc import Callable, Mapping
from typing import Any

from fiddle import signatures as fiddle_signatures

from fdlkit.graph import fiddle_internals, names

MISSING: Any = dataclasses.MISSING

# The kinds of parameters that are set by name.
BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One parameter of a callable.

    Attributes:
      name: Its name.
      annotation: The resolved annotation, `inspect.Parameter.empty` if there is none.
        One that cannot be resolved (a name that exists for type checkers only) stays
        the string it was written as.
      default: The default; `MISSING` if there is none or a factory makes it.
      has_default: Whether the callable can be called without it.
      factory: Makes the default (a dataclass's `default_factory`), or None.
      kind: The `inspect` kind: whether it is positional only, variadic, ...
    """

    name: str
    annotation: Any
    default: Any
    has_default: bool
    factory: Callable[[], Any] | None
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD


def parameters(fn_or_cls: Callable[..., Any]) -> dict[str, Parameter]:
    """The parameters that a config can set by name, in signature order.

    Positional-only and variadic ones are left out (`takes_any` says whether other
    names pass too). So are `parent` and `name` of a Flax module: a module's place is
    the field that holds it.
    """
    not_ours = hidden(fn_or_cls)
    return {
        name: parameter
        for name, parameter in all_parameters(fn_or_cls).items()
        if parameter.kind in BY_NAME and name not in not_ours
    }


def takes_any(fn_or_cls: Callable[..., Any]) -> bool:
    """Whether the callable takes `**kwargs`, so that any name is a parameter."""
    return any(
        parameter.kind is inspect.Parameter.VAR_KEYWORD
        for parameter in all_parameters(fn_or_cls).values()
    )


def all_parameters(fn_or_cls: Callable[..., Any]) -> Mapping[str, Parameter]:
    """Every parameter of the signature, in its order.

    Of a name that Fiddle imports lazily, once its module has been imported; before that
    it takes anything.
    """
    lazy = fiddle_internals.lazy_name(fn_or_cls)
    if lazy is not None:
        found = names.reach(*lazy)
        return _takes_anything() if found is None else all_parameters(found)
    try:
        return _cached(fn_or_cls)
    except TypeError:  # an unhashable callable
        return _read(fn_or_cls)


def _takes_anything() -> Mapping[str, Parameter]:
    # Such a name has every attribute, `__wrapped__` too: it is not to be inspected.
    empty = inspect.Parameter.empty
    kind = inspect.Parameter.VAR_KEYWORD
    return {"kwargs": Parameter("kwargs", empty, MISSING, False, None, kind)}


@functools.lru_cache(maxsize=4096)
def _cached(fn_or_cls: Callable[..., Any]) -> Mapping[str, Parameter]:
    return _read(fn_or_cls)


def _read(fn_or_cls: Callable[..., Any]) -> Mapping[str, Parameter]:
    signature = fiddle_signatures.get_signature(fn_or_cls)
    annotations = _annotations(fn_or_cls, signature)
    factories = _factories(fn_or_cls)
    found = {}
    for name, parameter in signature.parameters.items():
        factory = factories.get(name)
        has_default = factory is not None or parameter.default is not parameter.empty
        found[name] = Parameter(
            name=name,
            annotation=annotations.get(name, parameter.annotation),
            default=parameter.default if has_default and factory is None else MISSING,
            has_default=has_default,
            factory=factory,
            kind=parameter.kind,
        )
    return found


def _annotations(
    fn_or_cls: Callable[..., Any], signature: inspect.Signature
) -> dict[str, Any]:
    """Resolved annotations; each that fails alone is left as it was written."""
    sources: list[Any] = [fn_or_cls]
    if inspect.isclass(fn_or_cls):
        # A dataclass's fields, else what the constructor says of its own arguments.
        init = (fn_or_cls.__init__, fn_or_cls.__new__)
        sources = [fn_or_cls, *init] if dataclasses.is_dataclass(fn_or_cls) else [*init]
    elif not inspect.isroutine(fn_or_cls):
        call = inspect.unwrap(fn_or_cls)
        sources = [call if inspect.isroutine(call) else type(call).__call__]
    found: dict[str, Any] = {}
    for source in sources:
        try:
            hints = typing.get_type_hints(source)
        except Exception:  # noqa: BLE001 - an annotation may be any expression, and raise anything
            hints = _one_by_one(source)
        for name, hint in hints.items():
            if name in signature.parameters:
                found.setdefault(name, hint)
    return found


def _one_by_one(source: Any) -> dict[str, Any]:
    """Resolves the annotations that can be, where one of them cannot."""
    found = {}
    owners = reversed(source.__mro__) if inspect.isclass(source) else [source]
    for owner in owners:
        function = inspect.unwrap(owner) if callable(owner) else owner
        module = sys.modules.get(getattr(function, "__module__", None) or "")
        for name, written in getattr(owner, "__annotations__", {}).items():
            carrier = type("Carrier", (), {"__annotations__": {name: written}})
            scope = getattr(function, "__globals__", getattr(module, "__dict__", {}))
            try:
                found[name] = typing.get_type_hints(carrier, scope)[name]
            except Exception:  # noqa: BLE001 - as above
                found[name] = written
    return found


def _factories(fn_or_cls: Callable[..., Any]) -> dict[str, Callable[[], Any]]:
    if not dataclasses.is_dataclass(fn_or_cls):
        return {}
    return {
        field.name: field.default_factory
        for field in dataclasses.fields(fn_or_cls)
        if field.default_factory is not dataclasses.MISSING
    }


def hidden(fn_or_cls: Callable[..., Any]) -> tuple[str, ...]:
    """Parameters that Flax sets by itself, which a config should leave alone."""
    # Flax is not imported for this: whoever made a Flax class has it loaded.
    linen = sys.modules.get("flax.linen")
    if linen is None or not inspect.isclass(fn_or_cls):
        return ()
    return ("parent", "name") if issubclass(fn_or_cls, linen.Module) else ()
