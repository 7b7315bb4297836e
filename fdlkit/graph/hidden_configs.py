"""Configs inside values that a build does not look into, where they would stay configs.

A build makes what stands in arguments, lists, tuples, NamedTuples, dicts and the
containers that Fiddle was told of. Whatever else can hold an object (a set, a deque, a
subclass of `dict`, a dataclass's instance, the arguments of a `functools.partial`, what
a function closes over, a default) reaches the constructor as it is, config and all.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import gc
import inspect
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any

import fiddle as fdl

from fdlkit.graph import names, origins, paths, references, reprs, signatures
from fdlkit.graph.model import UNKNOWN, Graph, Leaf, Node, Opaque, Origin, Value
from fdlkit.graph.paths import PathKey
from fdlkit.graph.places import Places

# Values with nothing in them; asked first because most values are such.
_ATOMS = frozenset({bool, int, float, complex, str, bytes, type(None)})
# What has no objects of a user's in it, or leads to the whole program.
_NO_HOLDERS = (
    *(bool, int, float, complex, str, bytes, bytearray, range),
    *(type, enum.Enum, types.ModuleType, types.CodeType, types.FrameType),
    types.TracebackType,
)
_SEQUENCES: tuple[Any, ...] = (list, tuple, collections.deque)
_ARRAYS = (("numpy", "ndarray"), ("jax", "Array"), ("torch", "Tensor"))


@dataclasses.dataclass(frozen=True)
class Hidden:
    """A config that would not be built.

    Attributes:
      path: The path of the value that it is in.
      inside: The way on from there: `.items[0]`, ` closure 'cfg'`.
      holder: The type of that value, or whose default it is.
      config: What is there: `a config of pkg.Layer`, `ref(width)`.
      origin: Who wrote the value, if that is known.
    """

    path: paths.Path
    inside: str
    holder: str
    config: str
    origin: Origin | None

    def line(self) -> str:
        """Where it is, and in what."""
        by = f", {origins.show(self.origin)}" if self.origin else ""
        at = f"{paths.format(self.path)}{self.inside}"
        return f"  {at}: {self.config}, inside a {self.holder}{by}"


def find_hidden(graph: Graph, places: Places | None = None) -> tuple[Hidden, ...]:
    """The first config inside each value of a config that no build looks into.

    None is found in a graph that was read from text.
    """
    return tuple(_find(graph, places or Places(graph)))


def search(value: Any) -> tuple[str, fdl.Buildable] | None:
    """The first config that an object leads to, and the way to it; None if to none.

    Followed are elements, attributes, closures and what C objects hold; not modules,
    classes, and functions that a module has.
    """
    seen: dict[int, Any] = {}  # by id, with the object so that its id stays its own
    todo: list[tuple[_Way | None, Any]] = [(None, value)]
    while todo:
        way, at = todo.pop()
        if issubclass(type(at), fdl.Buildable):
            return _text(way), at
        if id(at) in seen:
            continue
        seen[id(at)] = at
        parts = [(label, p) for label, p in _parts(at) if type(p) not in _ATOMS]
        todo += [((way, label), part) for label, part in reversed(parts)]
    return None


# A step of a way: the text, and the key that it has to show (most are never shown).
_Label = tuple[str, Any]
# A way as a chain of labels from the last to the first: cheap to go on from.
_Way = tuple["_Way | None", _Label]


def _text(way: _Way | None) -> str:
    labels = []
    while way is not None:
        way, (text, key) = way
        labels.append(text.format(_short(key)))
    return "".join(reversed(labels))


def _find(graph: Graph, places: Places) -> Iterator[Hidden]:
    if isinstance(graph.root, Leaf) and isinstance(graph.root.value, Opaque):
        yield from _in(graph.root.value.live, (), None)
    in_defaults: dict[int, dict[PathKey, Any]] = {}  # by the id of a callable
    for number in places.order:
        node = graph.nodes[number]
        for value, keys, origin in _unseen(node):
            yield from _in(value, (*places.path(number), *keys), origin)
        if not node.is_buildable or node.callable is None:
            continue
        called = node.callable.live
        if id(called) not in in_defaults:
            in_defaults[id(called)] = dict(_defaults(node))
        for argument in node.arguments:
            if argument.value is None and argument.key in in_defaults[id(called)]:
                default = in_defaults[id(called)][argument.key]
                path = (*places.path(number), argument.key)
                yield from _in(default, path, None, f"default of {node.callable.name}")


def _defaults(node: Node) -> Iterator[tuple[PathKey, Any]]:
    """The defaults of a node's callable that there is a config in.

    A function gets the default that it was written with, whatever is in it.
    """
    if node.callable is None or not callable(node.callable.live):
        return
    parameters = list(signatures.all_parameters(node.callable.live).values())
    for argument in node.arguments:
        if argument.default is None or _is_plain(argument.default):
            continue
        for index, parameter in enumerate(parameters):
            if argument.key in (index, parameter.name) and search(parameter.default):
                yield argument.key, parameter.default


def _is_plain(value: Value) -> bool:
    return type(value) is Leaf and type(value.value) is not Opaque


def left_by_factory(node: Node, built: Any) -> str | None:
    """The argument for which a `default_factory` has made a config, as no build sees.

    Args:
      node: What was built.
      built: What its callable returned.
    """
    for argument in node.arguments:
        if argument.factory is None or argument.value is not None:
            continue
        try:  # past what the class makes of asking for an attribute
            made = object.__getattribute__(built, str(argument.key))
        except Exception:  # noqa: BLE001 - a property may raise anything
            continue
        parts: Iterable[Any] = (made,)
        if isinstance(made, dict):
            parts = dict.values(made)
        elif isinstance(made, list | tuple):
            parts = made
        if any(isinstance(part, fdl.Buildable) for part in parts):
            return str(argument.key)
    return None


def _in(
    value: Any, path: paths.Path, origin: Origin | None, holder: str = ""
) -> Iterator[Hidden]:
    found = search(value)
    if found is None:
        return
    inside, config = found
    if isinstance(config, references.Reference):
        what = references.show(config)
    else:
        called = names.Names().symbol(fdl.get_callable(config))
        what = f"a config of {called.name}"
    yield Hidden(path, inside, holder or type(value).__qualname__, what, origin)


def _unseen(node: Node) -> Iterator[tuple[Any, paths.Path, Origin | None]]:
    """Values that a node holds without their being nodes."""
    for argument in node.arguments:
        if type(argument.value) is Leaf and type(argument.value.value) is Opaque:
            yield argument.value.value.live, (argument.key,), argument.origin
        if type(argument.key) is paths.Key:
            key = argument.key.value
            if isinstance(key, Opaque | tuple):
                key = key.live if isinstance(key, Opaque) else key
                yield key, (argument.key,), None
    called = node.callable
    if called is not None and not called.importable and called.live is not UNKNOWN:
        yield called.live, (), None
    if node.metadata is not None and isinstance(node.metadata.value, Opaque):
        yield node.metadata.value.live, (), None


def _parts(value: Any) -> Iterator[tuple[_Label, Any]]:
    """What an object holds, each with how a person would write the way to it."""
    # The type itself is asked: `__class__` may pretend to be another one.
    kind = type(value)
    if issubclass(kind, _NO_HOLDERS):
        return
    if kind is types.FunctionType:
        yield from _of_function(value)
        return
    for module, name in _ARRAYS:
        base = getattr(sys.modules.get(module), name, None)
        if inspect.isclass(base) and issubclass(kind, base):
            if module == "numpy" and value.dtype.hasobject:
                yield from _elements(".flat[{}]", value.flat)
            return
    known = False
    # The bases' own methods: a subclass may have changed what iterating means.
    if issubclass(kind, dict):
        if dict.__contains__(value, "__spec__") and dict.__contains__(
            value, "__name__"
        ):
            return  # the names of a module
        known = True
        for key, held in dict.items(value):
            yield ("[{}]", key), held
            yield (" key {}", key), key
    for base in _SEQUENCES:
        if issubclass(kind, base):
            known = True
            yield from _elements("[{}]", base.__iter__(value))
    for base in (set, frozenset):
        if issubclass(kind, base):
            known = True
            yield from _elements(" element", base.__iter__(value))
    if issubclass(kind, functools.partial):
        known = True
        yield (".func", None), value.func
        yield from _elements(".args[{}]", value.args)
        for name, held in value.keywords.items():
            yield (".keywords[{}]", name), held
    for name, held in _attributes(value):
        known = True
        yield (".{}", _Name(name)), held
    if not known:  # written in C: an iterator, a method, a view, a read-only mapping
        yield from ((("", None), part) for part in gc.get_referents(value))


def _elements(text: str, elements: Iterable[Any]) -> Iterator[tuple[_Label, Any]]:
    for index, element in enumerate(elements):
        yield (text, index), element


def _of_function(function: types.FunctionType) -> Iterator[tuple[_Label, Any]]:
    if names.find(function) is not None:
        return  # a module's own, which this config only names
    for name, cell in zip(
        function.__code__.co_freevars, function.__closure__ or (), strict=True
    ):
        try:
            yield (" closure {}", name), cell.cell_contents
        except ValueError:  # nothing was put in yet
            continue
    yield from _elements(" default {}", function.__defaults__ or ())
    for name, default in (function.__kwdefaults__ or {}).items():
        yield (" default {}", name), default
    for name, held in vars(function).items():
        yield (".{}", _Name(name)), held


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    """Attributes that are stored, read without running any code of the object's."""
    try:
        stored = object.__getattribute__(value, "__dict__")
    except AttributeError:
        stored = {}
    if isinstance(stored, dict):
        yield from list(stored.items())
    for owner in type(value).__mro__:
        for name, member in list(vars(owner).items()):
            if isinstance(member, types.MemberDescriptorType):
                try:
                    yield name, member.__get__(value)
                except AttributeError:  # not set
                    continue


class _Name(str):
    """A name that stands in a way without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


def _short(key: Any) -> str:
    text = reprs.text(key)
    return text if len(text) <= 40 else f"{text[:39]}…"
