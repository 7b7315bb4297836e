"""Built objects in a config: what should have been an `fdl.Config` of its maker.

A config says how to make things. One that is made already is the same object in every
build, shows no arguments, takes no overrides and has no text. Values that say all of
themselves are no such objects: numbers, enums, dtypes, partition specs, frozen
dataclasses of these, functions and classes, and arrays that fit on a line or two.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import sys
import types
from collections.abc import Iterator
from typing import Any

from fdlkit.graph import frameworks, names, origins, paths, reprs
from fdlkit.graph.arrays import MAX_ELEMENTS
from fdlkit.graph.model import Argument, Graph, Leaf, Link, Node, Opaque, Origin, Value
from fdlkit.graph.places import Places

_ARRAYS = (("numpy", "ndarray"), ("jax", "Array"), ("torch", "Tensor"))

# Functions that their modules have by binding methods of an instance of their own.
_MODULES_OF_METHODS = ("random", "numpy.random")

_MAX_TEXT = 30  # of a field's value in what to write

_BUILTIN_METHODS = (types.BuiltinMethodType, types.MethodWrapperType)


@dataclasses.dataclass(frozen=True)
class Built:
    """A built object in a config.

    Attributes:
      path: Where it is.
      what: `a Flax module`, `an array of 4096 elements`.
      type: The public name of its type.
      instead: What to write in its place.
      origin: Who wrote it, if that is known.
    """

    path: paths.Path
    what: str
    type: str
    instead: str
    origin: Origin | None

    def lines(self) -> tuple[str, ...]:
        """Where it is and what, and what to write."""
        by = f", {origins.show(self.origin)}" if self.origin else ""
        at = paths.format(self.path)
        return f"  {at}: {self.what} ({self.type}{by})", f"    write {self.instead}"


def find_built(graph: Graph, places: Places | None = None) -> tuple[Built, ...]:
    """The built objects that set values of a config lead to, as a reader meets them.

    None is found in a graph that was read from text.
    """
    return tuple(_find(graph, places or Places(graph)))


def what(graph: Graph, value: Value) -> str | None:
    """`a Flax module` if a value is a built object; None if it may be in a config."""
    if isinstance(value, Leaf):
        held = value.value
        return _what(held.live) if isinstance(held, Opaque) else None
    return _what_tuple(graph.nodes[value.node])


def of_value(value: Any) -> tuple[str, str] | None:
    """What a built object that is no tuple is, and what to write in its place.

    None of a value that may be in a config.
    """
    kind = _what(value)
    return None if kind is None else (kind, _instead(value))


def _find(graph: Graph, places: Places) -> Iterator[Built]:
    whole = Argument("", graph.root)
    told: set[int] = set()
    if found := _built(graph, whole, told):
        yield found
    for number in places.order:
        if number in told:
            continue  # the parts of what was told of as a whole
        for argument in graph.nodes[number].arguments:
            value = argument.value
            if value is None or (
                type(value) is Leaf and type(value.value) is not Opaque
            ):
                continue  # most are such
            if found := _built(graph, argument, told):
                path = (*places.path(number), argument.key)
                yield dataclasses.replace(found, path=path)


def _built(graph: Graph, argument: Argument, told: set[int]) -> Built | None:
    """The finding, without its path."""
    value = argument.value
    if isinstance(value, Leaf):
        held = value.value
        kind = _what(held.live) if isinstance(held, Opaque) else None
        if kind is None or not isinstance(held, Opaque):
            return None
        return Built((), kind, held.type, _instead(held.live), argument.origin)
    assert isinstance(value, Link)
    node = graph.nodes[value.node]
    kind = _what_tuple(node)
    if kind is None or node.callable is None or value.node in told:
        return None
    told.add(value.node)
    return Built((), kind, node.callable.name, _maker_of(node), argument.origin)


def _what(value: Any) -> str | None:
    # The type itself is asked: `__class__` may pretend to be another one.
    if (kind := frameworks.kind(type(value))) is not None:
        return kind
    if (size := _size(value)) is not None:
        return f"an array of {size} elements" if size > MAX_ELEMENTS else None
    if _is_bound(value):
        return f"a bound method of a {type(value.__self__).__qualname__}"
    return None


def _what_tuple(node: Node) -> str | None:
    """The same for a NamedTuple, as which an Optax transformation comes."""
    if node.kind != "namedtuple" or node.callable is None:
        return None
    live = node.callable.live
    return frameworks.kind(live) if inspect.isclass(live) else None


def _size(value: Any) -> int | None:
    """How many elements an array has; None if it is none."""
    for module, name in _ARRAYS:
        base: Any = getattr(sys.modules.get(module), name, None)
        if inspect.isclass(base) and issubclass(type(value), base):
            return math.prod(value.shape)
    return None


def _is_bound(value: Any) -> bool:
    """Whether it is a method of an object, which comes with it."""
    if not isinstance(value, (types.MethodType, *_BUILTIN_METHODS)):
        return False
    owner = value.__self__
    if owner is None or inspect.isclass(owner) or inspect.ismodule(owner):
        return False
    homes = (sys.modules.get(module) for module in _MODULES_OF_METHODS)
    return all(getattr(home, value.__name__, None) != value for home in homes)


def _instead(value: Any) -> str:
    """What to write for a built object that is no tuple."""
    if _size(value) is not None:
        return "fdl.Config(FUNCTION, ...) of what computes or loads it"
    if _is_bound(value):
        owner = names.Names().symbol(type(value.__self__)).name
        method = value.__name__
        return f"fdl.Config({owner}, ...), and take its .{method} where it is called"
    called = names.Names().symbol(type(value)).name
    return as_config(value) or f"fdl.Config({called}, ...)"


def as_config(value: Any) -> str | None:
    """`fdl.Config(pkg.Axes, data=2)`: what makes a dataclass's instance; else None."""
    if inspect.isclass(value) or not dataclasses.is_dataclass(value):
        return None
    arguments = [
        f"{field.name}={_short(getattr(value, field.name, '...'))}"
        for field in dataclasses.fields(value)
        if field.init
        and field.name not in ("parent", "name")  # Flax's own, see `signatures.hidden`
        # A field that holds its own default was most likely not written.
        and getattr(value, field.name, None) is not field.default
    ]
    called = names.Names().symbol(type(value)).name
    return f"fdl.Config({', '.join([called, *arguments])})"


def _maker_of(node: Node) -> str:
    """What to write for an Optax transformation: its functions say who made them."""
    for argument in node.arguments:
        held = argument.value.value if isinstance(argument.value, Leaf) else None
        live = getattr(held, "live", None)
        outer, inside, _ = str(getattr(live, "__qualname__", "")).partition(".<locals>")
        made = names.reach(str(getattr(live, "__module__", "")), outer)
        symbol = names.find(made) if inside and callable(made) else None
        # Most optimizers are chains; the name of the chain's maker is not kept.
        if symbol is not None and not outer.endswith("chain"):
            return f"fdl.Config({symbol.name}, ...)"
    return "fdl.Config(...) of what made it, such as fdl.Config(optax.adamw, ...)"


def _short(value: Any) -> str:
    text = reprs.text(value)
    return text if len(text) <= _MAX_TEXT else "..."
