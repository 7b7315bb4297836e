"""What a callable can be told: its parameters, their types and defaults."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
import typing
from collections.abc import Callable, Collection, Mapping
from typing import Any

from fiddle import signatures as fiddle_signatures

from fdlkit.graph import constructors, fiddle_internals, names

MISSING: Any = dataclasses.MISSING

# The kinds of parameters that are set by name.
BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
# The kinds of parameters that have a position.
BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One parameter of a callable.

    Attributes:
      name: Its name.
      annotation: The resolved annotation, `inspect.Parameter.empty` if there is none.
        One that cannot be resolved (a name that exists for type checkers only) stays
        the string it was written as.
      default: The default; `MISSING` if there is none or a factory makes it.
      has_default: Whether the callable can be called without it, as far as is known.
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


@dataclasses.dataclass(frozen=True)
class Placed:
    """Arguments that Fiddle knows by their position alone, although they have names.

    Of `(*args, **kwargs)` it cannot tell the names. Where they are known all the same,
    `nnx.Linear(2, 3)` is `nnx.Linear(in_features=2, out_features=3)`, as it is for
    every other class.

    Attributes:
      names: The name of the argument at each such position.
      can_be_named: Whether they can be passed by name as well: not before a `*args`,
        and not where the same name is set besides.
    """

    names: Mapping[int, str]
    can_be_named: bool


_NOTHING_PLACED = Placed({}, can_be_named=False)


def placed(fn_or_cls: Callable[..., Any], keys: Collection[Any]) -> Placed:
    """Which of the arguments that are set stand by place but have names."""
    positions = [key for key in keys if type(key) is int]
    if not positions:
        return _NOTHING_PLACED
    known = all_parameters(fn_or_cls)
    seen = fiddle_signatures.get_signature(fn_or_cls).parameters
    if list(known) == list(seen):
        return _NOTHING_PLACED
    by_place = [p for p in known.values() if p.kind in BY_PLACE]
    names = {
        position: by_place[position].name
        for position in positions
        if position < len(by_place) and by_place[position].kind in BY_NAME
    }
    fits = max(positions) < len(by_place) and not set(names.values()) & set(keys)
    return Placed(names, can_be_named=fits)


def is_hidden(fn_or_cls: Callable[..., Any]) -> bool:
    """Whether Fiddle lets names pass that the callable does not take."""
    seen = fiddle_signatures.get_signature(fn_or_cls).parameters.values()
    return constructors.is_open(seen) and not takes_any(fn_or_cls)


def all_parameters(fn_or_cls: Callable[..., Any]) -> Mapping[str, Parameter]:
    """Every parameter of the callable, in order.

    They are those of its signature, or, where that is only `(*args, **kwargs)`, those
    of whatever it hands its arguments to, if that can be known. Of a name that Fiddle
    imports lazily, once its module has been imported; before that it takes anything.
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
    taken = constructors.constructor(fn_or_cls)
    supplied = constructors.supplied(fn_or_cls)
    annotations = _annotations(fn_or_cls, taken)
    factories = _factories(fn_or_cls)
    found = {}
    for parameter in taken.parameters:
        name = parameter.name
        factory = factories.get(name)
        has_value = factory is None and parameter.default is not parameter.empty
        found[name] = Parameter(
            name=name,
            annotation=annotations.get(name, parameter.annotation),
            default=parameter.default if has_value else MISSING,
            has_default=has_value
            or factory is not None
            or supplied is None
            or name in supplied,
            factory=factory,
            kind=parameter.kind,
        )
    return found


def _annotations(
    fn_or_cls: Callable[..., Any], taken: constructors.Constructor
) -> dict[str, Any]:
    """Resolved annotations; each that fails alone is left as it was written."""
    names = {parameter.name for parameter in taken.parameters}
    found: dict[str, Any] = {}
    for source in (*taken.sources, *_sources(fn_or_cls)):
        try:
            hints = typing.get_type_hints(source)
        except Exception:  # noqa: BLE001 - an annotation may be any expression, and raise anything
            hints = _one_by_one(source)
        for name, hint in hints.items():
            if name in names:
                found.setdefault(name, hint)
    return found


def _sources(fn_or_cls: Any) -> list[Any]:
    """What carries the annotations of a callable."""
    while isinstance(fn_or_cls, functools.partial):
        fn_or_cls = fn_or_cls.func
    if inspect.isclass(fn_or_cls):
        # A dataclass's fields, else what the constructor says of its own arguments.
        init = (fn_or_cls.__init__, fn_or_cls.__new__)
        return [fn_or_cls, *init] if dataclasses.is_dataclass(fn_or_cls) else [*init]
    if not inspect.isroutine(fn_or_cls):
        call = inspect.unwrap(fn_or_cls)
        return [call if inspect.isroutine(call) else type(call).__call__]
    return [fn_or_cls]


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
