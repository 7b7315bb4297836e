"""Fiddle's own JSON as a graph: what `fiddle.experimental.serialization` writes.

Like a text of ours it is read by names alone: nothing that it names is imported. What
it can hold and this cannot is refused, with its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fdlkit.graph import ranks
from fdlkit.graph.model import Argument, Graph, Leaf, Made, Node, Symbol, Value
from fdlkit.graph.paths import Path, PathKey
from fdlkit.serialize import growing
from fdlkit.serialize.faults import FormatError, a, short
from fdlkit.serialize.fiddle_objects import Objects, Parsed, of_bytes

_VERSION = "0.0.1"

_PARTS = frozenset({"root", "objects", "refcounts", "version"})


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


class _Reader:
    def __init__(self, objects: dict[str, Any], plain: Callable[[Any], Any]):
        self._objects = Objects(objects, plain)
        self._growing = growing.Growing()
        self._done: dict[str, Value] = {}
        self._parsed: dict[str, Parsed] = {}
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
        parsed = self._parsed[name] = self._objects.parse(self._objects.named(name))
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
            parsed = self._objects.parse(data)
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
            return self._value_of(self._objects.parse(data))
        return Leaf(self._objects.leaf(data))

    def _value_of(self, parsed: Parsed) -> Value:
        values = []
        for key, data in zip(parsed.keys, parsed.below, strict=True):
            self._way.append(key)
            values.append(self._value(data))
            self._way.pop()
        if parsed.what == "bytes":
            return Leaf(of_bytes(values))
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


def _slice(values: list[Value]) -> Made:
    parts = [value.value for value in values if isinstance(value, Leaf)]
    if len(parts) != 3 or len(values) != 3:
        raise FormatError("it has a slice that is none")
    return Made(Symbol("builtins", "slice"), tuple(enumerate(parts)))


def _itself(held: Any) -> Any:
    return held
