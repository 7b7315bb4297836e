"""Fiddle's own JSON as a graph: what `fiddle.experimental.serialization` writes.

Like a text of ours it is read by names alone: nothing that it names is imported. What
it can hold and this cannot is refused, with its place.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator
from typing import Any, Literal

from fdlkit.graph import paths, ranks
from fdlkit.graph.model import (
    Argument,
    Graph,
    Kind,
    Leaf,
    LeafValue,
    Made,
    Member,
    Node,
    Symbol,
    Value,
)
from fdlkit.graph.paths import Path, PathKey
from fdlkit.serialize import fiddle_names, growing, leaves
from fdlkit.serialize.faults import FormatError, a, pair, short

_VERSION = "0.0.1"

_PARTS = frozenset({"root", "objects", "refcounts", "version"})

# Fiddle's own types, by their last name; they have moved among its modules.
_BUILDABLES: dict[str, Kind] = {
    "Config": "config",
    "Partial": "partial",
    "ArgFactory": "arg_factory",
    "TaggedValueCls": "tagged_value",
}

_SEQUENCES: dict[str, Kind] = {
    "builtins:list": "list",
    "builtins:tuple": "tuple",
    "builtins:set": "set",
    "builtins:frozenset": "frozenset",
}

_MAX_LEVELS = 40  # of what stands beside the arguments: names, tags, keys

_ATTRIBUTE = re.compile(r"Attr\(name='(\w+)'\)")


def is_such(data: Any) -> bool:
    """Whether JSON data is what Fiddle writes."""
    return isinstance(data, dict) and set(data) >= _PARTS and "schema" not in data


def graph(data: dict[str, Any], plain: Callable[[Any], Any]) -> Graph:
    """The graph of a config that Fiddle wrote.

    Args:
      data: The whole JSON, for which `is_such` holds.
      plain: Turns a number that strict JSON has no form for into a float, and leaves
        anything else as it is.

    Raises:
      FormatError: It is damaged, of another version, or holds what has no form here.
    """
    if data["version"] != _VERSION:
        raise FormatError(
            f"it is Fiddle's JSON of version {short(data['version'])}; "
            f"this version reads '{_VERSION}'"
        )
    return _Reader(a(dict, data["objects"], "it"), plain).graph(data["root"])


@dataclasses.dataclass(frozen=True)
class _Parsed:
    """An object of the text with what is below it still to be read.

    Attributes:
      what: The kind of its node, or of a leaf: `bytes`, `slice`.
      keys: The keys of what it holds.
      below: What it holds, as data.
      called: The callable, class or factory of the node.
      own: The class of the node itself.
      tags: By the key of an argument.
    """

    what: Kind | Literal["bytes", "slice"]
    keys: tuple[Any, ...]
    below: tuple[Any, ...]
    called: Symbol | None = None
    own: Symbol | None = None
    tags: tuple[tuple[Any, tuple[Symbol, ...]], ...] = ()


class _Reader:
    def __init__(self, objects: dict[str, Any], plain: Callable[[Any], Any]):
        self._objects = objects
        self._plain = plain
        self._growing = growing.Growing()
        self._done: dict[str, Value] = {}
        self._parsed: dict[str, _Parsed] = {}
        # Where each object was first met: in which other one, and under which key.
        self._held_by: dict[str, tuple[str, PathKey] | None] = {}
        self._way: list[PathKey] = []  # to what is being read, within an object

    def graph(self, root: Any) -> Graph:
        """The whole graph; depth costs no recursion."""
        todo = [(name, False) for name, _ in self._references(root, None)]
        self._held_by.update((name, None) for name, _ in todo)
        opened: set[str] = set()
        while todo:
            name, is_below_done = todo.pop()
            self._way.clear()
            try:
                if is_below_done:
                    self._done[name] = self._value_of(self._parsed[name])
                    opened.discard(name)
                elif name not in self._done and name not in opened:
                    opened.add(name)
                    todo.append((name, True))
                    todo += [(below, False) for below in self._open(name, opened)]
            except FormatError as error:
                if error.path is None:
                    error.path = self._path(name)
                raise
        return self._growing.graph(self._value(root))

    def _open(self, name: str, opened: set[str]) -> list[str]:
        """Reads an object's head; the objects that must be read before it itself.

        Args:
          name: The object.
          opened: Objects that it is part of, and itself.
        """
        if name not in self._objects:
            raise FormatError(f"there is no object {short(name)}")
        parsed = self._parsed[name] = self._parse(self._objects[name])
        found = []
        for key, value in zip(parsed.keys, parsed.below, strict=True):
            for below, at in self._references(value, key):
                if below in opened:
                    self._way.append(at)
                    raise FormatError(f"object {short(below)} contains itself")
                self._held_by.setdefault(below, (name, at))
                found.append(below)
        return found[::-1]

    def _references(self, data: Any, key: Any) -> Iterator[tuple[str, Any]]:
        """The objects that a value refers to, with the key of the outermost place."""
        if not isinstance(data, dict):
            return
        if data.get("type") == "ref":
            yield a(str, data.get("key"), "a reference"), key
        elif isinstance(data.get("type"), dict):
            parsed = self._parse(data)
            for value in parsed.below:
                yield from self._references(value, key)

    def _path(self, name: str) -> Path:
        keys: list[PathKey] = self._way[::-1]
        held = self._held_by.get(name)
        while held is not None:
            keys.append(held[1])
            held = self._held_by.get(held[0])
        return tuple(reversed(keys))

    def _value(self, data: Any) -> Value:
        """A value, all objects below which are done."""
        if isinstance(data, dict) and data.get("type") == "ref":
            return self._done[a(str, data.get("key"), "a reference")]
        if isinstance(data, dict) and isinstance(data.get("type"), dict):
            return self._value_of(self._parse(data))
        return Leaf(self._leaf(data))

    def _value_of(self, parsed: _Parsed) -> Value:
        values = []
        for key, data in zip(parsed.keys, parsed.below, strict=True):
            self._way.append(key)
            values.append(self._value(data))
            self._way.pop()
        if parsed.what == "bytes":
            return Leaf(_bytes(values))
        if parsed.what == "slice":
            return Leaf(_slice(values))
        kind = parsed.what
        keys = parsed.keys
        if kind in ("set", "frozenset"):
            values.sort(key=lambda v: ranks.rank(self._element(v), _itself))
        tags = dict(parsed.tags)
        arguments = [
            Argument(key, value, tags=tags.pop(key, ()))
            for key, value in zip(keys, values, strict=True)
        ]
        arguments += [Argument(key, None, tags=left) for key, left in tags.items()]
        if kind in ("set", "frozenset"):
            self._growing.check_elements(arguments, "it")
        if kind == "reference":
            growing.check_reference(arguments, "it")
        called = growing.own_callable(kind, keys) or parsed.called
        return self._growing.add(Node(kind, tuple(arguments), called, parsed.own))

    def _element(self, value: Value) -> Any:
        """An element of a set, as what a set's order goes by."""
        node = self._growing.node(value)
        if node is None:
            assert isinstance(value, Leaf)
            return value.value
        parts = [self._element(x.value) for x in node.arguments if x.value is not None]
        return frozenset(parts) if node.kind == "frozenset" else tuple(parts)

    def _parse(self, data: Any) -> _Parsed:
        data = a(dict, data, "an object")
        kind = data.get("type")
        if not isinstance(kind, dict):
            raise FormatError(f"there is {short(kind)} where an object's type belongs")
        of = self._symbol(kind)
        items = a(list, data.get("items"), "an object")
        names = [a(str, pair(item, "an object")[0], "an object") for item in items]
        below = tuple(item[1] for item in items)
        name = f"{of.module}:{of.qualname}"
        if name in _SEQUENCES:
            return _Parsed(_SEQUENCES[name], tuple(range(len(below))), below)
        if name in ("builtins:bytes", "builtins:slice"):
            what: Literal["bytes", "slice"] = (
                "bytes" if of.qualname == "bytes" else "slice"
            )
            return _Parsed(what, tuple(range(len(below))), below)
        beside = self._beside(data.get("metadata"))
        if name == "builtins:dict":
            return _Parsed("dict", _dict_keys(beside, len(below)), below)
        if name == "collections:defaultdict":
            factory, keys = beside if _is_pair(beside) else (None, None)
            if not isinstance(factory, Symbol | None):
                raise FormatError("it has a default factory without a name")
            return _Parsed("default_dict", _dict_keys(keys, len(below)), below, factory)
        if isinstance(beside, _Metadata):
            return self._buildable(of, beside, below)
        if beside == of:
            matches = [_ATTRIBUTE.fullmatch(name) for name in names]
            fields = tuple(match[1] for match in matches if match is not None)
            if len(fields) == len(below) == len(set(fields)):
                return _Parsed("namedtuple", fields, below, of)
        raise FormatError(f"it holds a {of.name}, which has no form here")

    def _buildable(
        self, of: Symbol, beside: _Metadata, below: tuple[Any, ...]
    ) -> _Parsed:
        if len(beside.names) != len(below) or len(set(beside.names)) != len(below):
            raise FormatError("it has other arguments than names of them")
        kind: Kind = "buildable"
        if of.module == "fiddle" or of.module.startswith(("fiddle._src.", "fiddle.")):
            kind = _BUILDABLES.get(of.qualname, "buildable")
        if of.name == "fdlkit.graph.references.Reference":
            kind = "reference"
        own = of if kind == "buildable" else None
        return _Parsed(kind, beside.names, below, beside.called, own, beside.tags)

    def _beside(self, data: Any, level: int = 0) -> Any:
        """What Fiddle keeps beside what an object holds: keys, names, tags, a class."""
        if level > _MAX_LEVELS:
            raise FormatError("it has metadata of too many levels")
        if not isinstance(data, dict):
            return self._leaf(data)
        if data.get("type") == "ref":
            key = a(str, data.get("key"), "a reference")
            if key not in self._objects:
                raise FormatError(f"there is no object {short(key)}")
            return self._beside(self._objects[key], level + 1)
        if not isinstance(data.get("type"), dict):
            return self._leaf(data)
        of = self._symbol(data["type"])
        items = [
            pair(item, "its metadata")[1]
            for item in a(list, data.get("items"), "its metadata")
        ]
        parts = tuple(self._beside(item, level + 1) for item in items)
        if of.name == "builtins.tuple":
            return parts
        if of.name == "builtins.frozenset":
            return frozenset(parts)
        if of.name == "builtins.bytes":
            return _bytes([Leaf(part) for part in parts])
        if of.name == "builtins.dict":
            keys = self._beside(data.get("metadata"), level + 1)
            if type(keys) is tuple and len(keys) == len(parts):
                return _Pairs(tuple(zip(keys, parts, strict=True)))
        if of.qualname == "BuildableTraverserMetadata" and len(parts) >= 3:
            return _metadata(*parts[:3])
        raise FormatError(f"it has a {of.name} in its metadata")

    def _leaf(self, data: Any) -> LeafValue:
        if isinstance(data, dict) and data.get("type") == "leaf":
            data = data.get("value")
        if isinstance(data, dict) and data.get("type") == "pyref":
            return _member(self._symbol(data))
        return leaves.read(self._plain(data), "it")

    def _symbol(self, data: dict[str, Any]) -> Symbol:
        if data.get("type") != "pyref":
            raise FormatError(f"there is {short(data)} where a name belongs")
        module = a(str, data.get("module"), "a name")
        qualname = a(str, data.get("name"), "a name")
        found = leaves.symbol(f"{module}:{qualname}", "it")
        return fiddle_names.public(found.module, found.qualname)


@dataclasses.dataclass(frozen=True)
class _Pairs:
    """A dict among the metadata.

    Attributes:
      entries: Its keys and values.
    """

    entries: tuple[tuple[Any, Any], ...]


@dataclasses.dataclass(frozen=True)
class _Metadata:
    """What Fiddle keeps beside the arguments of a Buildable.

    Attributes:
      called: The callable.
      names: The names or positions of the arguments.
      tags: The tags, by the name of an argument.
    """

    called: Symbol
    names: tuple[Any, ...]
    tags: tuple[tuple[Any, tuple[Symbol, ...]], ...]


def _metadata(called: Any, names: Any, tags: Any) -> _Metadata:
    is_whole = (
        isinstance(called, Symbol)
        and type(names) is tuple
        and all(type(name) in (str, int) for name in names)
        and isinstance(tags, _Pairs)
    )
    if not is_whole:
        raise FormatError("it has no callable, or no names of its arguments")
    found = []
    for key, held in tags.entries:
        if type(key) not in (str, int) or not isinstance(held, frozenset | tuple):
            raise FormatError("it has tags that are none")
        if not all(isinstance(tag, Symbol) for tag in held):
            raise FormatError("it has tags that are none")
        found.append((key, tuple(sorted(held, key=lambda tag: tag.name))))
    return _Metadata(called, names, tuple(found))


def _is_pair(data: Any) -> bool:
    return type(data) is tuple and len(data) == 2


def _dict_keys(keys: Any, count: int) -> tuple[PathKey, ...]:
    if type(keys) is not tuple or len(keys) != count:
        raise FormatError("it has other values than keys")
    marks = {
        ("number" if isinstance(key, int | float) else type(key), key) for key in keys
    }
    if len(marks) != count:
        raise FormatError("it has a key twice")
    return tuple(paths.of_dict_key(key) for key in keys)


def _bytes(values: list[Value] | list[Leaf]) -> bytes:
    """Fiddle writes bytes as text, in an encoding that has two ways for some."""
    held = values[0].value if len(values) == 1 and isinstance(values[0], Leaf) else None
    if not isinstance(held, str):
        raise FormatError("it has bytes that are no text")
    if any(ord(letter) > 0xFF for letter in held):
        raise FormatError(
            "it has bytes of which Fiddle has not kept whether they were "
            r"'\u1f40' or '\u1F40'"
        )
    return held.encode("latin-1")


def _slice(values: list[Value]) -> Made:
    parts = [value.value for value in values if isinstance(value, Leaf)]
    if len(parts) != 3 or len(values) != 3:
        raise FormatError("it has a slice that is none")
    return Made(Symbol("builtins", "slice"), tuple(enumerate(parts)))


def _member(symbol: Symbol) -> Symbol | Member:
    """Members of enums stand as names do; by custom they are in capitals."""
    owner, _, last = symbol.qualname.rpartition(".")
    if owner and last.isupper():
        return Member(fiddle_names.public(symbol.module, owner), last)
    return symbol


def _itself(held: Any) -> Any:
    return held
